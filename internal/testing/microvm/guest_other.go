//go:build !linux

package microvm

import "errors"

// Begin is unsupported: what runs in a machine is for Linux.
func Begin() error { return errors.ErrUnsupported }

// StayAwake is unsupported, as Begin.
func StayAwake() error { return errors.ErrUnsupported }

// End does nothing.
func End(int) {}
