// Package limits takes resources from single processes: by a control group of
// our own around each, version 1 or 2, whichever has the controller, and by
// the process's own limit of open files.
//
// A group is a directory that this package makes and removes; what else is in
// the hierarchy is never written, and no controller is switched on for anybody.
// Linux only: elsewhere everything answers [errors.ErrUnsupported].
package limits

import (
	"errors"
	"fmt"
	"strings"
)

// A Controller is the part of a control group that limits one resource.
type Controller string

const (
	CPU    Controller = "cpu"
	Memory Controller = "memory"
	Pids   Controller = "pids"
)

// prefix begins the name of every group of ours, and of nobody else's.
const prefix = "rmq-mcp-"

// Name is the directory of a group: of what in which run it is.
func Name(run, of string) string {
	return prefix + strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return '-'
		}
		return r
	}, run+"-"+of)
}

// A Place is where a group can be made around a process.
type Place struct {
	Dir  string // the group to be made; its parent exists
	Back string // the group that the process is in; "" if that is Dir already
}

// Limits are what one group allows. A nil field is no limit.
type Limits struct {
	CPUPercent *float64 // of one core, over periods of 100 ms
	Memory     *MemoryLimit
	Tasks      *int // processes and threads
}

// MemoryLimit bounds the memory that is charged to a group. Memory that a process had
// before it was moved into the group stays charged to its former group.
type MemoryLimit struct {
	Bytes int64
	// Stall has a process that wants more wait for it, instead of being killed:
	// memory.high in version 2, the killer switched off in version 1.
	Stall bool
}

// Counters are what a group's own files count since it was made. All are 0 of
// a group that is not there.
type Counters struct {
	Throttled int64 // periods at whose end the processor had been taken away
	Reclaims  int64 // times that the memory's limit was run into
	Kills     int64 // processes that the kernel killed for their memory
	Refused   int64 // tasks that were not made
}

// Files are a process's limit of open files and its use of it.
type Files struct {
	Soft, Hard uint64
	// Free returns the limit under which exactly spare more files can be
	// opened: the kernel hands out the lowest number that is not in use, and
	// refuses those from the limit on.
	Free func(spare int) uint64
	Open int
}

// kept is how many of a process's first files it never closes: its three
// standard ones, and the one it opened first. Some duplicate a file to a number
// from 3 on, which the kernel refuses with EINVAL and not EMFILE below 4.
const kept = 4

// Hold returns the limit that keeps a process at spare more files than it has
// now, also while it closes some. With none to spare it lies below all that the
// process may close.
func (f Files) Hold(spare int) uint64 {
	if spare > 0 {
		return f.Free(spare)
	}
	return min(f.Free(0), kept)
}

// checkOurs keeps every write and every removal inside directories of ours.
func checkOurs(dir string) error {
	name := dir[strings.LastIndexByte(dir, '/')+1:]
	if !strings.HasPrefix(name, prefix) || len(name) == len(prefix) {
		return fmt.Errorf("%q is no group of ours: its name does not begin with %s", dir, prefix)
	}
	return nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), errors.ErrUnsupported)
}
