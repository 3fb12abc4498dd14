package netqueue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/florianl/go-nfqueue/v2"
	"golang.org/x/sys/unix"
)

// A Queue treats the packets of one NFQUEUE, from when it is opened until it is
// closed. The rule that queues packets should let them pass where nobody listens
// ("bypass").
type Queue struct {
	opt  Options
	nf   *nfqueue.Nfqueue
	hold *hold
	out  *copies // of Duplicate

	system, probes *decider // used by the receiver alone

	passed atomic.Uint32 // all packets up to this one may go, where nothing is held
	counts struct{ matched, hit, probes, seen atomic.Uint64 }
	ends   ends
	latest atomic.Uint32         // number that the kernel gave the last packet it sent
	peak   atomic.Int64          // most packets that were ever held
	failed atomic.Pointer[error] // why packets are not treated any more
	cancel context.CancelFunc
	done   chan struct{} // the releaser ended
}

// How much of a packet is read: its headers, or all of it.
const (
	headers = 128
	entire  = 0xffff
)

// readBuffer is asked of the kernel for packets that wait to be read.
const readBuffer = 64 << 20

// Open begins to treat the packets of a queue.
func Open(opt Options) (*Queue, error) {
	if err := opt.Treatment.Check(); err != nil {
		return nil, fmt.Errorf("queue %d: %w", opt.Queue, err)
	}
	q := &Queue{
		opt: opt, hold: newHold(), done: make(chan struct{}),
		system: newDecider(opt.Treatment, 0), probes: newDecider(opt.Treatment, probeStreams),
	}
	if err := q.open(); err != nil {
		return nil, fmt.Errorf("open queue %d: %w", opt.Queue, err)
	}
	go q.releaser()
	return q, nil
}

func (q *Queue) open() (err error) {
	config := nfqueue.Config{
		NfQueue: q.opt.Queue, AfFamily: unix.AF_INET, Copymode: nfqueue.NfQnlCopyPacket,
		MaxQueueLen: longest, MaxPacketLen: headers,
	}
	if do := q.opt.Treatment.Do; do == Corrupt || do == Duplicate {
		config.MaxPacketLen = entire
	}
	if q.opt.Treatment.whole() {
		config.Flags = nfqueue.NfQaCfgFlagGSO
	}
	if q.opt.Treatment.Do == Duplicate {
		if q.out, err = openCopies(); err != nil {
			return err
		}
	}
	if q.nf, err = nfqueue.Open(&config); err != nil {
		return errors.Join(err, q.out.close())
	}
	q.size()
	ctx, cancel := context.WithCancel(context.Background())
	q.cancel = cancel
	if err := q.nf.RegisterWithErrorFunc(ctx, q.received, q.broken); err != nil {
		cancel()
		return errors.Join(err, q.nf.Close(), q.out.close())
	}
	return nil
}

// size makes room for packets that wait to be read: as much as this process may
// have.
func (q *Queue) size() {
	raw, err := q.nf.Con.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, readBuffer) != nil {
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, readBuffer)
		}
		// A full buffer is no error to be read: what did not fit is counted.
		unix.SetsockoptInt(int(fd), unix.SOL_NETLINK, unix.NETLINK_NO_ENOBUFS, 1)
	})
}

// received decides about one packet. A queue that does not delay leaves its passing
// packets to the releaser. The releaser lets all packets go at once that came while
// it was busy.
func (q *Queue) received(a nfqueue.Attribute) int {
	if a.PacketID == nil {
		return 0
	}
	q.counts.seen.Add(1)
	q.latest.Store(*a.PacketID)
	q.peak.Store(max(q.peak.Load(), int64(q.hold.len())))
	var p packet
	if a.Payload != nil {
		p = *a.Payload
	}
	q.treat(*a.PacketID, p)
	return 0
}

func (q *Queue) treat(id uint32, p packet) {
	probe := q.opt.ProbePort != 0 && p.is(q.opt.ProbePort)
	decide := q.system
	if probe {
		decide = q.probes
		q.counts.probes.Add(1)
	} else {
		q.counts.matched.Add(1)
	}
	hit := decide.hit()
	did := hit && q.act(id, p, decide)
	if did && !probe {
		q.counts.hit.Add(1)
		q.ends.add(p)
	}
	if !did {
		q.pass(id)
	}
}

// act does to a packet what is to be done, and reports whether that was done.
func (q *Queue) act(id uint32, p packet, d *decider) bool {
	switch d.Do {
	case Delay:
		return q.hold.put(id, time.Now().Add(d.delay()))
	case Drop:
		return q.note(q.nf.SetVerdict(id, nfqueue.NfDrop))
	case Corrupt:
		random := d.delays.Uint64()
		harmed, ok := p.corrupted(random, d.Silent)
		return ok && q.note(q.nf.SetVerdictWithOption(id, nfqueue.NfAccept, nfqueue.WithAlteredPacket(harmed)))
	case Duplicate:
		// All that came before goes first, so that only the copy is new.
		return q.note(q.nf.SetVerdictBatch(id, nfqueue.NfAccept)) && q.out.send(p) == nil
	}
	return false
}

// pass lets a packet go that nothing was done to.
func (q *Queue) pass(id uint32) {
	if q.opt.Treatment.Do == Delay {
		q.note(q.nf.SetVerdict(id, nfqueue.NfAccept))
		return
	}
	q.passed.Store(id)
	q.hold.nudge()
}

// releaser lets packets go when their time is over.
func (q *Queue) releaser() {
	defer close(q.done)
	var ids []uint32
	var last uint32
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var next time.Time
		ids, next = q.hold.due(time.Now(), ids[:0])
		q.accept(ids)
		if now := q.passed.Load(); now != last {
			last = now
			q.note(q.nf.SetVerdictBatch(last, nfqueue.NfAccept))
		}
		if q.hold.ended() {
			return
		}
		wait := time.Hour
		if !next.IsZero() {
			wait = time.Until(next)
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-q.hold.wake:
		}
	}
}

func (q *Queue) accept(ids []uint32) {
	if len(ids) > 1 && q.opt.Treatment.inOrder() {
		q.note(q.nf.SetVerdictBatch(ids[len(ids)-1], nfqueue.NfAccept))
		return
	}
	for _, id := range ids {
		q.note(q.nf.SetVerdict(id, nfqueue.NfAccept))
	}
}

// note keeps the first error that keeps packets from being treated.
func (q *Queue) note(err error) bool {
	if err != nil {
		q.failed.CompareAndSwap(nil, &err)
	}
	return err == nil
}

// broken is told why a packet could not be read.
func (q *Queue) broken(err error) int {
	switch {
	case errors.Is(err, unix.ENOBUFS): // it is counted as overflown
		return 0
	case errors.Is(err, unix.ENOENT): // what a verdict was about has gone already, by one about all before a later one
		return 0
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		return 1
	}
	q.note(err)
	return 1
}

// The longest that Close waits for packets on their way to it, and how long
// none must have come.
const (
	drainBound = 200 * time.Millisecond
	quiet      = 10 * time.Millisecond
)

// Close lets all held packets go at once, those too that still come while
// whoever queues them stops, and ends the queue.
func (q *Queue) Close() error {
	q.hold.release()
	last := q.counts.seen.Load()
	for end := time.Now().Add(drainBound); time.Now().Before(end); {
		time.Sleep(quiet)
		now := q.counts.seen.Load()
		if now == last && q.hold.len() == 0 {
			break
		}
		last = now
	}
	q.hold.end()
	<-q.done
	q.cancel()
	return errors.Join(q.nf.Close(), q.out.close())
}

// Counts are what the queue met since it was opened.
func (q *Queue) Counts() (Counts, error) {
	c := Counts{
		Matched: q.counts.matched.Load(), Hit: q.counts.hit.Load(), Probes: q.counts.probes.Load(), Held: q.hold.len(),
		Ends: q.ends.all(),
	}
	if err := q.failed.Load(); err != nil {
		return c, fmt.Errorf("queue %d: %w", q.opt.Queue, *err)
	}
	var err error
	c.Overflown, err = overflown(q.opt.Queue)
	if errors.Is(err, os.ErrPermission) {
		c.Overflown, err = q.gaps()
	}
	return c, err
}

// gaps counts the packets that the kernel dropped, for use where the kernel's own
// count cannot be read: in a user namespace its file is nobody's to read. The kernel
// numbers packets before it sends them, so the numbers of packets that were not read
// are missing. It gives no number to packets that it drops for holding too many. The
// most packets that were ever held tell whether that can have happened.
func (q *Queue) gaps() (uint64, error) {
	if held := q.peak.Load(); held >= longest*9/10 {
		return 0, fmt.Errorf("queue %d held %d packets of the %d it may: what came then may have been dropped, and is not counted here", q.opt.Queue, held, longest)
	}
	latest := q.latest.Load() // first: what comes meanwhile is none that is missing
	if missing := int32(latest - uint32(q.counts.seen.Load())); missing > 0 {
		return uint64(missing), nil
	}
	return 0, nil
}

// overflown reads what the kernel dropped of a queue: columns 6 (more were held
// than it may keep) and 7 (not read in time) of nfnetlink_queue.c: seq_show.
func overflown(queue uint16) (uint64, error) {
	const path = "/proc/thread-self/net/netfilter/nfnetlink_queue"
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read what queue %d dropped: %w", queue, err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 8 || fields[0] != strconv.Itoa(int(queue)) {
			continue
		}
		full, err1 := strconv.ParseUint(fields[5], 10, 64)
		unread, err2 := strconv.ParseUint(fields[6], 10, 64)
		return full + unread, errors.Join(err1, err2)
	}
	return 0, fmt.Errorf("%s does not show queue %d", path, queue)
}
