package keeper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// levels are the ways to start a keeper of the isolation, best first; every
// last one works on any host. The host's network is kept for host; its
// children are contained all the same.
func levels(isolation string) []level {
	flags := uintptr(unix.CLONE_NEWPID | unix.CLONE_NEWNS)
	contained, plain := isolation, isolation
	switch isolation {
	case "", IsolationNamespaces:
		flags |= unix.CLONE_NEWNET
		contained, plain = IsolationNamespaces, IsolationLoopback
	case IsolationHost:
	case IsolationLoopback:
		return []level{{isolation: IsolationLoopback}}
	default:
		return nil
	}
	var all []level
	if os.Geteuid() == 0 {
		all = append(all, level{contained, true, cloning(flags)})
	}
	all = append(all, level{contained, true, cloning(flags | unix.CLONE_NEWUSER)})
	if isolation != IsolationNamespaces {
		all = append(all, level{isolation: plain})
	}
	return all
}

// cloning asks for new namespaces; in a new user namespace the caller is root.
func cloning(flags uintptr) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr.Cloneflags = flags
		if flags&unix.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
		}
	}
}

// dieWithParent has the kernel kill the command when the calling thread ends.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// adoptOrphans makes this process the parent of all that its descendants leave
// behind.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphansBound is how long the kernel may take to end what was killed.
const orphansBound = time.Minute

// killOrphans ends and reaps every child of this process, until there is none:
// each may leave children of its own.
func killOrphans() error {
	for deadline := time.Now().Add(orphansBound); ; {
		children, err := childrenOf(os.Getpid())
		if err != nil || len(children) == 0 {
			return err
		}
		for _, pid := range children {
			unix.Kill(pid, unix.SIGKILL) // ours until we reap it
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v do not die", children)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func childrenOf(parent int) ([]int, error) {
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []int
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		stat, err := readStat(pid)
		if errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if stat.parent == parent {
			found = append(found, pid)
		}
	}
	return found, nil
}
