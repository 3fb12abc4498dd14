package faults

// Unserved is an error of Set: the node's process was started in order, and
// ended by itself or did not serve in time. The failure is the broker's, not
// the injector's.
type Unserved interface {
	error
	Unserved()
}

// absent is that error where the engine found it itself.
type absent struct{ error }

func (absent) Unserved()       {}
func (a absent) Unwrap() error { return a.error }

// unserved reports whether an error says only that: one of several that is
// anything else is ours to explain.
func unserved(err error) bool {
	switch e := err.(type) {
	case Unserved:
		return true
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !unserved(one) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	case interface{ Unwrap() error }:
		return unserved(e.Unwrap())
	}
	return false
}
