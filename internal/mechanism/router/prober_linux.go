package router

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
)

// A prober has a UDP socket and a TCP listener at the probe port of every host that
// was ever asked about. All of them belong to this process. A packet from one host is
// therefore seen at the other, whatever happens to the answer.
type prober struct {
	mu       sync.Mutex
	posts    map[string]*post // by host
	sessions map[uint64]*session
	last     uint64 // session
}

// A post is the prober in one host.
type post struct {
	ns       Host
	addr     netip.AddrPort
	udp      *net.UDPConn
	tcp      net.Listener
	dialling sync.Mutex // there is one probe port to dial from
}

func newProber() *prober {
	return &prober{posts: map[string]*post{}, sessions: map[uint64]*session{}}
}

func (p *prober) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, post := range p.posts {
		errs = append(errs, post.udp.Close(), post.tcp.Close())
	}
	clear(p.posts)
	return errors.Join(errs...)
}

// at answers the post in a host, and opens it the first time.
func (p *prober) at(h Host) (*post, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if post, ok := p.posts[h.Name()]; ok {
		return post, nil
	}
	post, err := openPost(h)
	if err != nil {
		return nil, fmt.Errorf("open the probe port of %s: %w", h.Name(), err)
	}
	p.posts[h.Name()] = post
	go p.listen(post)
	go accept(post.tcp)
	return post, nil
}

// probeBuffer has room for the pings of others that wait, as far as the host allows.
const probeBuffer = 1 << 20

func openPost(h Host) (*post, error) {
	ip, err := address(h)
	if err != nil {
		return nil, err
	}
	out := &post{ns: h, addr: netip.AddrPortFrom(ip, ProbePort)}
	err = netns.In(h.NetNS(), func() (err error) {
		if out.udp, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(out.addr)); err != nil {
			return err
		}
		out.udp.SetReadBuffer(probeBuffer)
		l := net.ListenConfig{Control: reuse}
		if out.tcp, err = l.Listen(context.Background(), "tcp4", out.addr.String()); err != nil {
			out.udp.Close()
		}
		return err
	})
	return out, err
}

// accept ends every connection at once: that it was made is all that counts.
func accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			conn.Close()
		}
	}
}

// listen sends probes back, and notes those that came back.
func (p *prober) listen(at *post) {
	b := make([]byte, 1<<16)
	for {
		n, from, err := at.udp.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || from.Port() != ProbePort {
			continue
		}
		p.got(at, from, b[:n], monotonic())
	}
}

func (p *prober) got(at *post, from netip.AddrPort, b []byte, now time.Duration) {
	d, ok := parse(b)
	s := p.session(d.session, ok, from.Addr(), at.addr.Addr())
	switch {
	case s == nil: // it was waited for long enough
	case !ok:
		s.harmed()
	case d.back:
		s.returned(int(d.seq), now)
	default:
		s.arrived(int(d.seq), now)
		turn(b)
		at.udp.WriteToUDPAddrPort(b, from) // that it is not sent shows as its absence
	}
}

// session answers the one a datagram belongs to. One that was harmed on its
// way belongs to any between these two.
func (p *prober) session(id uint64, whole bool, from, to netip.Addr) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if whole {
		return p.sessions[id]
	}
	for _, s := range p.sessions {
		if s.from == from && s.to == to || s.from == to && s.to == from {
			return s
		}
	}
	return nil
}

func (p *prober) open(from, to netip.Addr, count int) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	s := newSession(p.last, from, to, count)
	p.sessions[s.id] = s
	return s
}

func (p *prober) end(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s.id)
}

// posts answers the posts at both ends.
func (r *Router) posts(from, to string) (a, b *post, err error) {
	if from == to {
		return nil, nil, fmt.Errorf("%s has no link with itself", from)
	}
	for _, e := range []struct {
		name string
		at   **post
	}{{from, &a}, {to, &b}} {
		h, err := r.host(e.name)
		if err != nil {
			return nil, nil, err
		}
		if *e.at, err = r.prober.at(h); err != nil {
			return nil, nil, err
		}
	}
	return a, b, nil
}

// Ping sends probes from one host to another and waits for them, for a bounded
// time. An error is about the prober; a link that lets nothing pass is none.
func (r *Router) Ping(ctx context.Context, ping Ping) (Pings, error) {
	a, b, err := r.posts(ping.From, ping.To)
	if err != nil {
		return Pings{}, fmt.Errorf("ping %s from %s: %w", ping.To, ping.From, err)
	}
	ping = ping.filled()
	s := r.prober.open(a.addr.Addr(), b.addr.Addr(), ping.Count)
	defer r.prober.end(s)
	s.send(ctx, a.udp, b.addr, ping)
	s.await(ctx, ping)
	if err := ctx.Err(); err != nil && !s.complete() {
		return s.result(), fmt.Errorf("ping %s from %s: %w", ping.To, ping.From, err)
	}
	return s.result(), nil
}

// Dial connects from one host to a TCP port of another, 0 for one that this
// package answers at, and says how long that took. One end of it is the probe
// port, whichever it connects to.
func (r *Router) Dial(ctx context.Context, from, to string, port int) (took time.Duration, err error) {
	a, b, err := r.posts(from, to)
	if err != nil {
		return 0, fmt.Errorf("connect from %s to %s: %w", from, to, err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	d := net.Dialer{}
	if port == 0 {
		port = ProbePort
	} else {
		a.dialling.Lock()
		defer a.dialling.Unlock()
		d.LocalAddr, d.Control = net.TCPAddrFromAddrPort(a.addr), reuse
	}
	err = netns.In(a.ns.NetNS(), func() error {
		began := time.Now()
		conn, err := d.DialContext(ctx, "tcp4", netip.AddrPortFrom(b.addr.Addr(), uint16(port)).String())
		if err != nil {
			return err
		}
		took = time.Since(began)
		conn.(*net.TCPConn).SetLinger(0) // leaves nothing that waits for the next one
		return conn.Close()
	})
	if err != nil {
		return took, fmt.Errorf("connect from %s to %s: %w", from, to, err)
	}
	return took, nil
}

const dialBound = time.Second

// reuse lets a socket that connects have the probe port beside the listener.
func reuse(_, _ string, c syscall.RawConn) (err error) {
	set := func(fd uintptr) {
		err = errors.Join(
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1),
		)
	}
	return errors.Join(c.Control(set), err)
}
