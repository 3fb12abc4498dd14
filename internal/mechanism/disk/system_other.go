//go:build !linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Available says what this host lacks for a layer.
func Available() error {
	return fmt.Errorf("disk faults need FUSE on Linux: %w", errors.ErrUnsupported)
}

// Abort frees whoever waits for a mount.
func Abort(uint32) error { return Available() }

func detach(string) error { return nil }

func connection(string) (uint32, error) { return 0, nil }
func vacant(string) error               { return nil }
func giveBack(Info) error               { return nil }

// Main serves a layer.
func Main(context.Context, []string, io.Reader, io.Writer) error { return Available() }
