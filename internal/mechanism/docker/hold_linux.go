package docker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// listenIn opens the socket in a directory whose path may be longer than the
// kernel takes for a socket.
func listenIn(dir string) (*net.UnixListener, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	path := filepath.Join(fmt.Sprintf("/proc/self/fd/%d", d.Fd()), holdSocket)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the path means something else by then
	return l, nil
}

// receive takes the one descriptor that the other side sends.
func receive(conn *net.UnixConn) (*os.File, error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), control)
	if err != nil {
		return nil, fmt.Errorf("receive a namespace: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("receive a namespace: %d messages (%v)", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("receive a namespace: %d descriptors (%v)", len(fds), err)
	}
	unix.CloseOnExec(fds[0])
	return os.NewFile(uintptr(fds[0]), "container's network"), nil
}

// HoldMain is the hidden command that runs in the container: it sends its
// network namespace to the socket, and stays until the other side is gone.
func HoldMain(args []string) error {
	if len(args) != 1 {
		return errors.New("hold: expected the path of a socket; this command is rmq-mcp's own")
	}
	ns, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: args[0]})
	if err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	if _, _, err := conn.WriteMsgUnix([]byte{0}, unix.UnixRights(int(ns.Fd())), nil); err != nil {
		return fmt.Errorf("hold: send the namespace: %w", err)
	}
	io.Copy(io.Discard, conn)
	return nil
}
