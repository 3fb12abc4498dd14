package docker

import (
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
)

// unsupported is an error of what this machine cannot do.
func unsupported(format string, args ...any) error {
	return unsupportedError{fmt.Errorf(format, args...)}
}

// An unsupportedError is an [errors.ErrUnsupported] that says no more than its cause.
type unsupportedError struct{ error }

func (unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }
func (e unsupportedError) Unwrap() error      { return e.error }

// gone reports whether the engine does not have what was asked for.
func gone(err error) bool { return errdefs.IsNotFound(err) }

// settled reports whether the engine refuses because things are as they
// should be: killed already, not paused any more, being removed.
func settled(err error) bool {
	return errdefs.IsNotFound(err) || errdefs.IsConflict(err) || errdefs.IsNotModified(err)
}
