package router

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// A datagram is a magic word, which way it goes, session, sequence number,
// filling, and a checksum over all of it.
type datagram struct {
	back    bool
	session uint64
	seq     uint32
}

const (
	magic       = "rmqp"
	wayAt       = 4
	sessionAt   = 8
	seqAt       = 16
	fillingAt   = 20
	checksumLen = 4
	leastSize   = 64
)

func (d datagram) bytes(size int) []byte {
	b := make([]byte, size)
	copy(b, magic)
	binary.BigEndian.PutUint64(b[sessionAt:], d.session)
	binary.BigEndian.PutUint32(b[seqAt:], d.seq)
	for i := fillingAt; i < size-checksumLen; i++ {
		b[i] = byte(i * 7)
	}
	seal(b)
	return b
}

func seal(b []byte) {
	body := b[:len(b)-checksumLen]
	binary.BigEndian.PutUint32(b[len(body):], crc32.ChecksumIEEE(body))
}

// turn makes what arrived into its answer.
func turn(b []byte) {
	b[wayAt] = 1
	seal(b)
}

// parse reads a datagram; ok is false where it is not as it was sent.
func parse(b []byte) (d datagram, ok bool) {
	if len(b) < leastSize {
		return d, false
	}
	body := b[:len(b)-checksumLen]
	if string(b[:len(magic)]) != magic || binary.BigEndian.Uint32(b[len(body):]) != crc32.ChecksumIEEE(body) {
		return d, false
	}
	return datagram{
		back:    b[wayAt] != 0,
		session: binary.BigEndian.Uint64(b[sessionAt:]),
		seq:     binary.BigEndian.Uint32(b[seqAt:]),
	}, true
}

// A session is one Ping under way.
type session struct {
	id       uint64
	from, to netip.Addr
	blind    bool // the other end is in another process

	mu     sync.Mutex
	began  time.Duration   // when the first was sent
	sent   []time.Duration // by sequence number; 0: not sent
	there  []time.Duration // when it arrived; 0: it did not
	back   []time.Duration
	latest int // highest sequence number that arrived
	missed int // that could not be sent
	full   chan struct{}
	pings  Pings
}

func newSession(id uint64, from, to netip.Addr, count int) *session {
	return &session{
		id: id, from: from, to: to, latest: -1, full: make(chan struct{}),
		sent: make([]time.Duration, count), there: make([]time.Duration, count), back: make([]time.Duration, count),
	}
}

func (p Ping) filled() Ping {
	if p.Count <= 0 {
		p.Count = 5
	}
	if p.Interval <= 0 {
		p.Interval = time.Millisecond
	}
	if p.Wait <= 0 {
		p.Wait = 500 * time.Millisecond
	}
	p.Size = min(max(p.Size, leastSize), 60_000)
	return p
}

// monotonic is the time of this machine, which all of its processes share.
func monotonic() time.Duration { return time.Duration(history.MonotonicNow()) }

// session is the sender's session of a burst.
func (b Burst) session() *session {
	s := newSession(b.Session, netip.Addr{}, b.To.Addr(), b.Ping.filled().Count)
	s.blind = true
	return s
}

// over sends a burst over a socket and waits for the answers.
func (s *session) over(ctx context.Context, conn *net.UDPConn, b Burst) Sending {
	ping := b.Ping.filled()
	s.send(ctx, conn, b.To, ping)
	s.await(ctx, ping)
	s.mu.Lock()
	defer s.mu.Unlock()
	return Sending{s.pings, slices.Clone(s.sent), slices.Clone(s.back)}
}

// probeFromHere sends a burst from a socket of its own.
func probeFromHere(ctx context.Context, b Burst) (Sending, error) {
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return Sending{}, err
	}
	defer conn.Close()
	s := b.session()
	go func() {
		for buf := make([]byte, 1<<16); ; {
			n, _, err := conn.ReadFromUDPAddrPort(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			switch d, whole := parse(buf[:n]); {
			case err != nil:
			case !whole:
				s.harmed()
			case d.back && d.session == b.Session:
				s.returned(int(d.seq), monotonic())
			}
		}
	}()
	return s.over(ctx, conn, b), ctx.Err()
}

// send sends all probes, one each interval.
func (s *session) send(ctx context.Context, from *net.UDPConn, to netip.AddrPort, ping Ping) {
	tick := time.NewTicker(ping.Interval)
	defer tick.Stop()
	for seq := range ping.Count {
		b := datagram{session: s.id, seq: uint32(seq)}.bytes(ping.Size)
		s.sending(seq, monotonic())
		_, err := from.WriteToUDPAddrPort(b, to)
		if err != nil {
			s.failed(seq, err)
		}
		if seq == ping.Count-1 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// await returns when all came back, or when it was waited long enough.
func (s *session) await(ctx context.Context, ping Ping) {
	bound := time.NewTimer(ping.Wait)
	defer bound.Stop()
	select {
	case <-s.full:
	case <-bound.C:
		return
	case <-ctx.Done():
		return
	}
	if ping.Linger > 0 {
		select {
		case <-time.After(ping.Linger):
		case <-ctx.Done():
		}
	}
}

func (s *session) sending(seq int, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pings.Sent == 0 {
		s.began = now
	}
	s.sent[seq] = now
	s.pings.Sent++
}

func (s *session) failed(seq int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[seq] = 0
	s.missed++
	s.pings.Error = err.Error()
	s.look()
}

func (s *session) harmed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pings.Corrupted++
}

func (s *session) arrived(seq int, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case seq >= len(s.sent) || s.sent[seq] == 0:
		return
	case s.there[seq] != 0:
		s.pings.Duplicated++
		return
	case seq < s.latest:
		s.pings.Reordered++
	}
	s.latest = max(s.latest, seq)
	s.there[seq] = now
	s.pings.Arrived++
	s.pings.There = append(s.pings.There, now-s.sent[seq])
	s.pings.Span = now - s.began
}

func (s *session) returned(seq int, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case seq >= len(s.sent) || s.there[seq] == 0 && !s.blind || s.sent[seq] == 0:
		return
	case s.back[seq] != 0:
		s.pings.Duplicated++
		return
	}
	s.back[seq] = now
	s.pings.Received++
	s.pings.RTT = append(s.pings.RTT, now-s.sent[seq])
	if !s.blind {
		s.pings.Back = append(s.pings.Back, now-s.there[seq])
	}
	s.look()
}

// look closes full once nothing is missing any more. All that was sent must
// have been.
func (s *session) look() {
	if s.pings.Received+s.missed == len(s.sent) {
		select {
		case <-s.full:
		default:
			close(s.full)
		}
	}
}

func (s *session) complete() bool {
	select {
	case <-s.full:
		return true
	default:
		return false
	}
}

func (s *session) result() Pings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pings
}
