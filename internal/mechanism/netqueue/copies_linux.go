package netqueue

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Copies sends packets as they are. The router's own packets are not forwarded, so no
// rule about forwarded packets meets a copy: it cannot be copied again, and other
// rules do nothing to it.
type copies struct{ fd int }

func openCopies() (*copies, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_RAW)
	if err != nil {
		return nil, fmt.Errorf("open a raw socket for copies of packets: %w", err)
	}
	return &copies{fd: fd}, nil
}

func (c *copies) send(p packet) error {
	if len(p) < 20 {
		return unix.EINVAL
	}
	return unix.Sendto(c.fd, p, 0, &unix.SockaddrInet4{Addr: p.destination()})
}

func (c *copies) close() error {
	if c == nil {
		return nil
	}
	return unix.Close(c.fd)
}
