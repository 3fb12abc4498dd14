//go:build !linux && !darwin

package driver

import (
	"io"
	"os"
)

// protectStdout takes stdout for the lines, so that what an SDK prints cannot
// break the contract. It leaves other writers alone.
func protectStdout(out io.Writer) (io.Writer, error) {
	if out == os.Stdout {
		os.Stdout = os.Stderr
	}
	return out, nil
}
