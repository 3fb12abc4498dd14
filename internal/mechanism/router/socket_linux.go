package router

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
)

// tcpEstablished is TCP_ESTABLISHED of net/tcp_states.h.
const tcpEstablished = 1

// Sockets are the ends of established TCP connections at the From of any link
// whose other end is at its To. Probes are none.
func (r *Router) Sockets(links []Link) ([]Socket, error) {
	k, err := r.addresses()
	if err != nil {
		return nil, err
	}
	var out []Socket
	for _, h := range r.opt.Hosts() {
		var to []way
		for _, l := range links {
			if !r.among(l.From, h.Name()) {
				continue
			}
			ways, err := k.ways(Link{From: []string{h.Name()}, To: l.To})
			if err != nil {
				return nil, err
			}
			to = append(to, ways...)
		}
		if len(to) == 0 {
			continue
		}
		var all []Socket
		err := netns.In(h.NetNS(), func() (err error) {
			all, err = established(h.Name())
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list the connections of %s: %w", h.Name(), err)
		}
		out = append(out, slices.DeleteFunc(all, func(s Socket) bool { return !k.meets(to, s.Remote.Addr()) })...)
	}
	return out, nil
}

func (r *Router) among(names []string, host string) bool {
	return slices.Contains(names, host) || slices.Contains(names, Clients) && r.opt.Client(host)
}

// meets reports whether an address is at the end of any way.
func (k known) meets(ways []way, a netip.Addr) bool {
	return slices.ContainsFunc(ways, func(w way) bool {
		if w.to.IsValid() {
			return w.to == a
		}
		return k.isHost(a) && !slices.Contains(k.servers, a)
	})
}

// isHost reports whether an address is a host's: the keeper has others.
func (k known) isHost(a netip.Addr) bool {
	for _, host := range k.all {
		if host == a {
			return true
		}
	}
	return false
}

// established are the connections of a host, in the namespace of the calling thread.
func established(host string) (out []Socket, err error) {
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} { // listeners of both see IPv4 too
		socks, err := netlink.SocketDiagTCP(family)
		if err != nil {
			return nil, err
		}
		for _, s := range socks {
			if e, ok := end4(host, s); ok {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

func end4(host string, s *netlink.Socket) (Socket, bool) {
	local, ok1 := netip.AddrFromSlice(s.ID.Source)
	remote, ok2 := netip.AddrFromSlice(s.ID.Destination)
	e := Socket{
		Host:   host,
		Local:  netip.AddrPortFrom(local.Unmap(), s.ID.SourcePort),
		Remote: netip.AddrPortFrom(remote.Unmap(), s.ID.DestinationPort),
		Cookie: s.ID.Cookie,
	}
	probe := e.Local.Port() == ProbePort || e.Remote.Port() == ProbePort
	return e, ok1 && ok2 && s.State == tcpEstablished && !probe && e.Remote.Addr().Is4()
}

// Reset ends connections at these ends of them: the kernel tells both sides, by
// an error and by a TCP reset. It returns one end of each that it ended; one
// that is gone already is not among them.
func (r *Router) Reset(sockets []Socket) ([]Socket, error) {
	var done []Socket
	var errs []error
	for _, h := range r.opt.Hosts() {
		mine := slices.DeleteFunc(slices.Clone(sockets), func(s Socket) bool { return s.Host != h.Name() })
		if len(mine) == 0 {
			continue
		}
		errs = append(errs, netns.In(h.NetNS(), func() error {
			ended, err := destroyed(mine)
			done = joined(done, ended)
			return err
		}))
	}
	return done, errors.Join(errs...)
}

// destroyed are the sockets of the calling thread's namespace that it ended.
func destroyed(sockets []Socket) (done []Socket, err error) {
	for _, s := range sockets {
		switch err := destroy(s); {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESTALE):
		case err != nil:
			return done, fmt.Errorf("reset %s to %s of %s: %w", s.Local, s.Remote, s.Host, err)
		default:
			done = joined(done, []Socket{s})
		}
	}
	return done, nil
}

// destroy asks the kernel to end the socket that has this cookie. Without it
// the kernel would look by addresses, and where the connection has just ended
// find the listener instead.
func destroy(s Socket) error {
	req := nl.NewNetlinkRequest(nl.SOCK_DESTROY, unix.NLM_F_ACK)
	req.AddData(diagRequest{s})
	_, err := req.Execute(unix.NETLINK_INET_DIAG, 0)
	return err
}

// diagRequest is struct inet_diag_req_v2 of linux/inet_diag.h.
type diagRequest struct{ Socket }

func (r diagRequest) Len() int { return 56 }

func (r diagRequest) Serialize() []byte {
	b := make([]byte, r.Len())
	b[0], b[1] = unix.AF_INET, unix.IPPROTO_TCP
	id := b[8:]
	binary.BigEndian.PutUint16(id, r.Local.Port())
	binary.BigEndian.PutUint16(id[2:], r.Remote.Port())
	copy(id[4:], r.Local.Addr().AsSlice())
	copy(id[20:], r.Remote.Addr().AsSlice())
	binary.NativeEndian.PutUint32(id[40:], r.Cookie[0])
	binary.NativeEndian.PutUint32(id[44:], r.Cookie[1])
	return b
}
