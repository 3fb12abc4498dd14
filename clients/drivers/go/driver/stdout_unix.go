//go:build linux || darwin

package driver

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// protectStdout moves descriptor 1 away and points it at stderr, so that what
// an SDK prints cannot break the contract. It leaves other writers alone.
func protectStdout(out io.Writer) (io.Writer, error) {
	if file, ok := out.(*os.File); !ok || file.Fd() != 1 {
		return out, nil
	}
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := dup2(2, 1); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "lines"), nil
}
