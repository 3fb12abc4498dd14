package keeper

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// thisProcess is the calling process as the mounted /proc counts: inside a pid
// namespace that has no /proc of its own yet, as it is seen outside.
func thisProcess() (Process, error) {
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return Process{}, fmt.Errorf("find own pid: %w", err)
	}
	pid, err := strconv.Atoi(link)
	if err != nil {
		return Process{}, fmt.Errorf("find own pid: %w", err)
	}
	return identify(pid)
}

// identify answers the process that has the pid now. One that has ended, a
// zombie included, is os.ErrProcessDone.
func identify(pid int) (Process, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Process{}, err
	}
	return Process{Pid: pid, Start: stat.start, Boot: bootID()}, nil
}

// procStat is what this package needs of /proc/PID/stat.
type procStat struct {
	state  string
	parent int
	start  int64 // clock ticks since boot
}

func readStat(pid int) (procStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return procStat{}, os.ErrProcessDone
	}
	if err != nil {
		return procStat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	stat, err := parseStat(string(text))
	if err != nil {
		return procStat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return stat, nil
}

// parseStat begins after the command's name, which may hold anything.
func parseStat(text string) (procStat, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return procStat{}, fmt.Errorf("stat has %d fields", len(fields))
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return procStat{}, err
	}
	start, err := strconv.ParseInt(fields[19], 10, 64)
	return procStat{state: fields[0], parent: parent, start: start}, err
}

// alive says whether it is still the same process, and not a zombie.
func (p Process) alive() bool {
	stat, err := readStat(p.Pid)
	return err == nil && p.Boot == bootID() && stat.start == p.Start && stat.state != "Z" && stat.state != "X"
}

// kill ends the process if it is still the same one.
func (p Process) kill() error {
	fd, err := unix.PidfdOpen(p.Pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", p.Pid, err)
	}
	defer unix.Close(fd)
	if !p.alive() { // asked after the open: from here on the pid cannot be another's
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", p.Pid, err)
	}
	return nil
}

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
