package keeper

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reapOrphans does what process 1 of a pid namespace has to: it reaps the
// children of processes that ended before them. Its own children are waited
// for by whoever started them, and os.Process holds a pidfd of each until
// then: a zombie without one is an orphan.
func reapOrphans() {
	if !pidfdsHeld() {
		return // zombies are better than a stolen exit status
	}
	for range time.Tick(2 * time.Second) {
		// Zombies first: a child started after that cannot be among them.
		zombies, err := zombieChildren()
		if err != nil {
			continue
		}
		mine, err := ownChildren()
		if err != nil {
			continue
		}
		for _, pid := range zombies {
			if !mine[pid] {
				unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}

// pidfdsHeld says whether os.Process uses pidfds here.
func pidfdsHeld() bool {
	me, err := os.FindProcess(os.Getpid())
	if err != nil {
		return false
	}
	defer me.Release()
	held, err := ownChildren()
	return err == nil && held[os.Getpid()]
}

func zombieChildren() ([]int, error) {
	children, err := childrenOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	var zombies []int
	for _, pid := range children {
		if stat, err := readStat(pid); err == nil && stat.state == "Z" {
			zombies = append(zombies, pid)
		}
	}
	return zombies, nil
}

// ownChildren are the processes of which this one holds a pidfd.
func ownChildren() (map[int]bool, error) {
	fds, err := os.ReadDir("/proc/self/fdinfo")
	if err != nil {
		return nil, fmt.Errorf("list own files: %w", err)
	}
	held := map[int]bool{}
	for _, fd := range fds {
		info, err := os.ReadFile("/proc/self/fdinfo/" + fd.Name())
		if err != nil {
			continue // closed meanwhile
		}
		for line := range strings.Lines(string(info)) {
			if text, ok := strings.CutPrefix(line, "Pid:"); ok {
				if pid, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
					held[pid] = true
				}
			}
		}
	}
	return held, nil
}
