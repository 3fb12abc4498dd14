//go:build !linux

package tap

import (
	"errors"
	"fmt"
	"net"
)

func shut(*net.TCPConn) (bool, error) {
	return false, fmt.Errorf("read the window of a socket: %w", errors.ErrUnsupported)
}
