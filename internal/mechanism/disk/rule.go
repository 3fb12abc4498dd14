package disk

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// An Op is a kind of file operation.
type Op string

// The operations that are counted and can be disturbed. A write through
// O_DSYNC is a write followed by an fsync.
const (
	Open     Op = "open"
	Create   Op = "create" // also of devices and symbolic links
	Read     Op = "read"   // that the page cache does not answer
	Write    Op = "write"
	Fsync    Op = "fsync" // and fdatasync
	FsyncDir Op = "fsyncdir"
	Truncate Op = "truncate" // also an open with O_TRUNC
	Allocate Op = "allocate"
	Rename   Op = "rename"
	Link     Op = "link"
	Unlink   Op = "unlink"
	Mkdir    Op = "mkdir"
	Rmdir    Op = "rmdir"
	ReadDir  Op = "readdir"
	Stat     Op = "stat" // that the kernel does not answer itself; not of the directory that is mounted
)

// Ops are all of them.
func Ops() []Op {
	return []Op{Open, Create, Read, Write, Fsync, FsyncDir, Truncate, Allocate,
		Rename, Link, Unlink, Mkdir, Rmdir, ReadDir, Stat}
}

// ProbePrefix begins the names of files and directories that probes use. Operations
// on them, or below them, follow the same rules and are counted apart.
const ProbePrefix = ".rmq-probe"

// Faults is what a layer does beside its work: exactly this, until it is set
// anew. The zero value is a healthy disk.
type Faults struct {
	Rules []Rule `json:"rules,omitempty"`
	Limit Limit  `json:"limit"`
}

// A Limit makes the disk smaller: what goes beyond answers ENOSPC, and statfs
// says so. Sizes count in blocks of 4 KiB. 0 is no limit.
type Limit struct {
	Bytes  int64 `json:"bytes,omitempty"`  // what files may hold together
	Inodes int64 `json:"inodes,omitempty"` // how many files and directories there may be
}

// A Rule disturbs the operations that match it: any of Ops (empty: any operation) on
// a path that matches Path. The first Skip of them pass. After that every Every-th
// is hit (0 and 1: each), with Probability (0 is 1), Max times at most (0: without
// end). Probes are counted by themselves, as if they were alone.
//
// An operation that is hit waits Delay plus a random part of Jitter. Then it answers
// Errno, or is done as usual if Errno is empty.
type Rule struct {
	ID string `json:"id"` // its hits are counted under it
	// Path is a pattern for the path relative to the data directory, as of
	// path.Match, ** for any number of directories. Without a slash it is
	// compared with the last name only. Empty: every path. A rename matches
	// by either of its names. A probe matches every pattern.
	Path string `json:"path,omitempty"`
	Ops  []Op   `json:"ops,omitempty"`

	Skip        int     `json:"skip,omitempty"`
	Every       int     `json:"every,omitempty"`
	Probability float64 `json:"probability,omitempty"`
	Seed        uint64  `json:"seed,omitempty"`
	Max         int     `json:"max,omitempty"`

	Delay  time.Duration `json:"delay_ns,omitempty"`
	Jitter time.Duration `json:"jitter_ns,omitempty"`
	Errno  string        `json:"errno,omitempty"` // EIO; see Errnos
	Failed Failed        `json:"failed,omitempty"`
	Hold   Hold          `json:"hold,omitempty"`
}

// Failed is what an fsync that a rule answered with an error leaves behind.
type Failed string

const (
	FailedOnce  Failed = ""     // everything as before; the next fsync may succeed and then tells the truth
	FailedLoses Failed = "lose" // what was not synced is gone from the file at once, its size stays; the next fsync succeeds: the lie of many kernels
	FailedKeeps Failed = "keep" // the file's next fsyncs fail too, whatever they would have been, until the rule is gone
)

// Hold makes an operation that is hit wait until [Client.Resume], or until the
// process that asked for it is being killed. Reading the file of a held write through
// the mount waits too; Info().Tree can be read.
type Hold string

const (
	HoldNone   Hold = ""
	HoldBefore Hold = "before" // it is not done
	HoldAfter  Hold = "after"  // it is done, and its caller does not know
)

// Errnos are the errors that a rule can answer with.
func Errnos() []string {
	return []string{"EIO", "ENOSPC", "EROFS", "EDQUOT", "EACCES", "EPERM", "EMFILE", "ENFILE", "ENOMEM",
		"EAGAIN", "EINTR", "EBUSY", "ENOENT", "EEXIST", "EFBIG", "ESTALE", "ETIMEDOUT", "ENODEV", "ENXIO"}
}

// Check says what is wrong with the faults.
func (f Faults) Check() error {
	if f.Limit.Bytes < 0 || f.Limit.Inodes < 0 {
		return fmt.Errorf("limit: bytes %d, inodes %d: must not be negative", f.Limit.Bytes, f.Limit.Inodes)
	}
	seen := map[string]bool{}
	for _, r := range f.Rules {
		if seen[r.ID] {
			return fmt.Errorf("rule %q: there are two of that id", r.ID)
		}
		seen[r.ID] = true
		if err := r.check(); err != nil {
			return fmt.Errorf("rule %q: %w", r.ID, err)
		}
	}
	return nil
}

func (r Rule) check() error {
	for _, op := range r.Ops {
		if !slices.Contains(Ops(), op) {
			return fmt.Errorf("no operation %q; choose of %v", op, Ops())
		}
	}
	if r.Errno != "" && !slices.Contains(Errnos(), r.Errno) {
		return fmt.Errorf("no errno %q; choose of %s", r.Errno, strings.Join(Errnos(), ", "))
	}
	if _, err := path.Match(r.Path, ""); err != nil {
		return fmt.Errorf("path %q: %w", r.Path, err)
	}
	switch {
	case r.ID == "":
		return errors.New("needs an id")
	case r.Skip < 0, r.Every < 0, r.Max < 0, r.Delay < 0, r.Jitter < 0:
		return errors.New("skip, every, max, delay and jitter must not be negative")
	case !(r.Probability >= 0 && r.Probability <= 1):
		return fmt.Errorf("probability %v must be between 0 and 1", r.Probability)
	case !slices.Contains([]Hold{HoldNone, HoldBefore, HoldAfter}, r.Hold):
		return fmt.Errorf("hold %q: choose before or after", r.Hold)
	case !slices.Contains([]Failed{FailedOnce, FailedLoses, FailedKeeps}, r.Failed):
		return fmt.Errorf("failed %q: choose lose or keep", r.Failed)
	case r.Failed != FailedOnce && (r.Errno == "" || !slices.Contains(r.Ops, Fsync)):
		return errors.New("failed says what a failed fsync leaves: it needs an errno, and fsync among ops")
	case r.Errno == "" && r.Delay == 0 && r.Jitter == 0 && r.Hold == HoldNone:
		return errors.New("does nothing: give an errno, a delay or a hold")
	}
	return nil
}

// matches says whether a path, relative and with slashes, matches a pattern.
func matches(pattern, name string) bool {
	switch {
	case pattern == "":
		return true
	case !strings.Contains(pattern, "/"):
		ok, _ := path.Match(pattern, path.Base(name))
		return ok
	}
	return matchParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchParts(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := range len(name) + 1 {
				if matchParts(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], name[0]); !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}
