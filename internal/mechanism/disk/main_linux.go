package disk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Main serves one layer: its arguments are those that [Start] gives, its
// requests come from stdin and their answers go to stdout. It ends with stdin.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 1 {
		return errors.New("disk: wants its configuration as one argument; rmq-mcp starts it by itself")
	}
	var config Config
	if err := json.Unmarshal([]byte(args[0]), &config); err != nil {
		return fmt.Errorf("disk: configuration: %w", err)
	}
	unix.Umask(0) // the kernel has taken the caller's off
	hurry()
	out := &answers{to: json.NewEncoder(stdout)}
	s, err := mount(config)
	if err != nil {
		out.send(0, nil, err)
		return err
	}
	out.send(0, s.info, nil)
	go s.tick(ctx)
	s.serve(ctx, stdin, out)
	return s.end()
}

// hurry puts this process before others where it may: a disk is not slow
// because a processor is busy.
func hurry() {
	debug.SetGCPercent(400)
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, thread := range threads { // those to come inherit it
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, -10) // it is only a wish
		}
	}
}

type answers struct {
	mu sync.Mutex
	to *json.Encoder
}

func (a *answers) send(n uint64, result any, err error) {
	reply := answer{N: n}
	if err != nil {
		reply.Error = err.Error()
	} else if reply.Result, err = json.Marshal(result); err != nil {
		reply.Error = err.Error()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.to.Encode(reply) // who does not listen any more ends us by its input
}

// A service is a mounted layer.
type service struct {
	info   Info
	layer  *layer
	served chan struct{} // closed when the mount is gone
}

func mount(config Config) (*service, error) {
	if err := vacant(config.Mount); err != nil {
		return nil, fmt.Errorf("mount %s: %w", config.Mount, err)
	}
	start := time.Now()
	live := filepath.Join(config.Backing, treeDir)
	if err := os.MkdirAll(live, 0o755); err != nil {
		return nil, err
	}
	if err := moveAll(config.Mount, live); err != nil {
		return nil, fmt.Errorf("take over what is in %s; the backing directory must be on the same file system: %w", config.Mount, err)
	}
	t, err := newTree(config.Backing, config.Model, func() time.Duration { return time.Since(start) })
	if err == nil {
		var s *service
		if s, err = serveTree(t, config); err == nil {
			return s, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("mount %s: %w", config.Mount, err), moveAll(live, config.Mount))
}

func serveTree(t *tree, config Config) (*service, error) {
	s := &service{layer: newLayer(t), served: make(chan struct{})}
	server, err := fuse.NewServer(s.layer, config.Mount, &fuse.MountOptions{
		FsName: fsName, Name: fsName, AllowOther: true, DirectMountStrict: true, DisableXAttrs: true,
		DisableReadDirPlus: true, MaxWrite: 1 << 20, MaxBackground: 128,
		Options: []string{"default_permissions"}})
	if err != nil {
		return nil, err
	}
	s.layer.server = server
	go func() {
		server.Serve()
		close(s.served)
	}()
	n, err := connection(config.Mount)
	s.info = Info{PID: os.Getpid(), Connection: n, Mount: config.Mount, Backing: config.Backing, Tree: t.live, Model: t.model}
	return s, err
}

func (s *service) tick(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.served:
			return
		case <-time.After(500 * time.Millisecond):
			s.layer.tree.tick()
		}
	}
}

// serve answers requests until there are no more, or the mount is gone.
func (s *service) serve(ctx context.Context, stdin io.Reader, out *answers) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for in := bufio.NewReader(stdin); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			var r request
			if err := json.Unmarshal(line, &r); err != nil {
				out.send(r.N, nil, err)
				continue
			}
			go func() {
				result, err := s.handle(ctx, r)
				out.send(r.N, result, err)
			}()
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	case <-s.served:
	}
}

// end takes the mount away and gives the data back to where it was.
func (s *service) end() error {
	t := s.layer.tree
	s.layer.rules.set(nil)
	t.restorePower()
	if unix.Unmount(s.info.Mount, unix.UMOUNT_NOFOLLOW) != nil { // somebody is in it
		if err := detach(s.info.Mount); err != nil {
			return fmt.Errorf("unmount %s: %w", s.info.Mount, err)
		}
	}
	// Until we are gone, nothing changes any more. Requests may still come: from
	// who is in it, and from a mount namespace that was copied meanwhile.
	t.ns.Lock()
	t.spool.close()
	return giveBack(s.info)
}

// giveBack moves the data of a layer that is no longer mounted to where they were.
func giveBack(i Info) error {
	if err := moveAll(i.Tree, i.Mount); err != nil {
		return fmt.Errorf("give the data back to %s: %w; they are in %s", i.Mount, err, i.Tree)
	}
	for _, dir := range []string{i.Tree, filepath.Join(i.Backing, graveDir)} {
		_ = os.RemoveAll(dir)
	}
	_ = os.Remove(i.Backing) // others may have put something there
	return nil
}

// moveAll moves what is in one directory to another.
func moveAll(from, to string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range list {
		target := filepath.Join(to, e.Name())
		if _, err := os.Lstat(target); err == nil {
			return fmt.Errorf("%s is there already", target)
		}
		if err := os.Rename(filepath.Join(from, e.Name()), target); err != nil {
			return err
		}
	}
	return nil
}
