//go:build !linux

package diskprobe

import (
	"fmt"
	"io"
	"runtime"

	"errors"
)

// Main is a helper.
func Main([]string, io.Reader, io.Writer) error {
	return fmt.Errorf("probe a disk on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
