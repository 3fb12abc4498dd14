package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	psutil "github.com/shirou/gopsutil/v3/process"

	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// Inside is what a command in a node's pod sees of the broker.
type Inside struct {
	State   string             `json:"state"` // running or frozen
	PID     int                `json:"pid"`   // in the pod
	Born    uint64             `json:"born"`  // start time as the kernel counts it
	Build   string             `json:"build"` // of the program that looks
	Metrics map[string]float64 `json:"metrics"`
}

// InsideMain is a command in a pod of a run: copy FILE puts this program there, look [PID BORN]
// prints an [Inside], signal NUMBER PID BORN sends the broker a signal, attend PID BORN prints an
// [Attended] for every line that it reads, idle waits for the end of ctx, watch RUN is the watchdog of
// the run's namespace.
func InsideMain(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	switch {
	case len(args) == 2 && args[0] == "copy":
		return copySelf(args[1])
	case len(args) == 1 && args[0] == "idle":
		<-ctx.Done()
		return nil
	case len(args) == 2 && args[0] == "watch":
		api, err := kube.Open(ctx, kube.Target{})
		if err != nil {
			return err
		}
		return api.Of(args[1]).Watch(ctx)
	case len(args) == 1 && args[0] == "look":
		pid, err := theBroker()
		if err != nil {
			return err
		}
		return look(ctx, pid, out)
	case len(args) == 3 && args[0] == "look":
		pid, err := sameProcess(args[1], args[2])
		if err != nil {
			return err
		}
		return look(ctx, pid, out)
	case len(args) == 3 && args[0] == "attend":
		return attend(args[1], args[2], in, out)
	case len(args) == 4 && args[0] == "signal":
		number, err := strconv.Atoi(args[1])
		if err != nil {
			return fmt.Errorf("signal %q is no number", args[1])
		}
		pid, err := sameProcess(args[2], args[3])
		if err != nil {
			return err
		}
		return (&process{pid: pid, born: startTime(pid)}).signal(syscall.Signal(number))
	}
	return errors.New("inside: this command is rmq-mcp's own, for the pods of a run")
}

// look prints what is to be seen of a process.
func look(ctx context.Context, pid int, out io.Writer) (err error) {
	seen := Inside{PID: pid, Born: startTime(pid), Build: build.Version(), Metrics: map[string]float64{}}
	if seen.State, err = osState(pid); err != nil {
		return err
	}
	if p, err := psutil.NewProcessWithContext(ctx, int32(pid)); err == nil {
		measure(ctx, p, seen.Metrics)
	}
	return json.NewEncoder(out).Encode(seen)
}

// sameProcess is a process by its number, if it is the one that was started then.
func sameProcess(number, born string) (pid int, err error) {
	if pid, err = strconv.Atoi(number); err != nil {
		return 0, fmt.Errorf("process %q is no number", number)
	}
	if now := startTime(pid); now == 0 || strconv.FormatUint(now, 10) != born {
		return 0, fmt.Errorf("the broker, process %d, is gone", pid)
	}
	return pid, nil
}

// theBroker is the oldest process in the pod that sees the same files as this one. Other
// containers have other files.
func theBroker() (broker int, err error) {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return 0, fmt.Errorf("look at the processes of the pod: %w", err)
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		files, err := os.Readlink(filepath.Join(dir, "ns/mnt"))
		if err != nil || files != own || pid == os.Getpid() || startTime(pid) == 0 {
			continue
		}
		if broker == 0 || startTime(pid) < startTime(broker) || startTime(pid) == startTime(broker) && pid < broker {
			broker = pid
		}
	}
	if broker == 0 {
		return 0, errors.New("the pod has no process of a broker")
	}
	return broker, nil
}

// copySelf writes this program to a file, to be run there.
func copySelf(to string) error {
	name, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	from, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
