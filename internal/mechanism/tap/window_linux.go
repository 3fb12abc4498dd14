package tap

import (
	"net"

	"golang.org/x/sys/unix"
)

// shut reports whether a socket has told its peer that it takes no more (tcp(7), TCP_INFO).
// A kernel before 6.2 does not say, and looks as if all were shut.
func shut(conn *net.TCPConn) (bool, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, err
	}
	var info *unix.TCPInfo
	var said error
	err = raw.Control(func(fd uintptr) { info, said = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err == nil {
		err = said
	}
	return err == nil && info.Rcv_wnd < info.Rcv_mss, err
}
