package checker

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// A breakage says where a fold of ours panicked. That is a defect of rmq-mcp and not of
// the broker. A broken fold is not called again and its result is unknown; everything
// else is judged as if it were not there (jepsen.checker/check-safe).
type breakage struct {
	why string // "" while all is well
}

func (x *breakage) broke() bool { return x.why != "" }

// pass breaks in turn what rests on something that broke.
func (x *breakage) pass() {
	if x.broke() {
		panic(*x)
	}
}

// guard calls f, unless something broke before.
func (x *breakage) guard(f func()) {
	if x.broke() {
		return
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case breakage:
			*x = r
		default:
			x.why = sentence("%v, in %s", r, panicSite())
		}
	}()
	f()
}

// panicSite is the file and line of the panic that is being recovered from:
// the same for the same evidence, unlike a stack.
func panicSite() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for thrown := false; ; {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		switch {
		case thrown && !inRuntime:
			return filepath.Base(f.File) + ":" + strconv.Itoa(f.Line)
		case !more:
			return "an unknown place"
		}
		thrown = thrown || inRuntime && strings.Contains(f.Function, "panic")
	}
}
