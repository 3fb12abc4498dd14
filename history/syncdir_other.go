//go:build !windows

package history

import (
	"errors"
	"os"
)

// syncDir makes a rename in dir survive a loss of power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
