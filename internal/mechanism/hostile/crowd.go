package hostile

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Actions of the clients of a rule.
const (
	Talk  = "talk"  // one conversation after the other
	Flood = "flood" // hold connections
	Pour  = "pour"  // publish as fast as is acknowledged
)

// How far the clients of a flood go.
const (
	NoHandshake    = "none"  // a TCP connection, and not a byte
	SlowHandshake  = "slow"  // CONNECT, a byte a second
	WholeHandshake = "whole" // a client that is accepted and pings
)

// A Rule is what clients do to a node.
type Rule struct {
	Fault       string  `json:"-"`
	Do          string  `json:"do"`
	Seed        uint64  `json:"seed"`
	First       int     `json:"first,omitempty"` // number of the first conversation, or client of a flood
	Step        int     `json:"step"`            // from one number to the next
	Last        int     `json:"last,omitempty"`  // the highest number, where there is time for so many
	Kind        string  `json:"kind,omitempty"`  // of all conversations; "" is any
	RatePerS    float64 `json:"rate_per_s,omitempty"`
	Connections int     `json:"connections,omitempty"`
	Handshake   string  `json:"handshake,omitempty"`

	// For clients that pour.
	Window       int `json:"window,omitempty"` // messages of each on their way
	PayloadBytes int `json:"payload_bytes,omitempty"`
}

// Bounds of what clients do.
const (
	dialBound  = 3 * time.Second
	talkBound  = 2 * time.Second // of a conversation
	talkers    = 64              // conversations at once
	openers    = 32              // connections that are being opened at once
	againAfter = time.Second     // a connection that ended, or was not to be had
)

// A Tally is what came of a rule at one node.
type Tally struct {
	Answers map[Answer]int64 `json:"answers"`
	Tried   int64            `json:"tried,omitempty"`  // clients of a flood that came, and were let in or not
	Opened  int64            `json:"opened,omitempty"` // connections that a flood opened, ever
	Open    []string         `json:"-"`                // our addresses of those that are open

	// Messages of clients that pour: sent, and of them acknowledged.
	Published int64 `json:"published,omitempty"`
	Acked     int64 `json:"acked,omitempty"`

	// Suspects are the last conversations begun before the first unheard one. They
	// are all conversations under way at that time, and some earlier ones.
	Suspects []Said `json:"suspects,omitempty"`
}

// Said is a conversation that was held.
type Said struct {
	Number int      `json:"number"` // with the seed, it is the same again
	Kind   string   `json:"kind"`
	Level  byte     `json:"level"` // 4 is MQTT 3.1.1, 5 is MQTT 5
	Answer Answer   `json:"answer"`
	Hex    []string `json:"hex"` // its packets, their first bytes
}

// A Crowd is all hostile clients of an experiment.
type Crowd struct {
	dial  func(ctx context.Context, node string) (net.Conn, error)
	login Login

	mu   sync.Mutex
	acts map[at]*act
}

type at struct{ node, fault string }

// NewCrowd makes a crowd in which nobody does anything yet.
func NewCrowd(dial func(ctx context.Context, node string) (net.Conn, error), login Login) *Crowd {
	return &Crowd{dial: dial, login: login, acts: map[at]*act{}}
}

// Show makes these and no others what is done to a node. It returns when what
// ended has ended.
func (c *Crowd) Show(node string, rules []Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, a := range c.acts {
		if key.node == node && !slices.ContainsFunc(rules, func(r Rule) bool { return r.Fault == key.fault }) {
			a.stop()
		}
	}
	for _, r := range rules {
		if key := (at{node, r.Fault}); c.acts[key] == nil {
			c.acts[key] = c.begin(node, r)
		}
	}
}

// Tally is what came of a fault's rule at a node so far.
func (c *Crowd) Tally(node, fault string) Tally {
	c.mu.Lock()
	a := c.acts[at{node, fault}]
	c.mu.Unlock()
	if a == nil {
		return Tally{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.tally
	out.Answers, out.Open = maps.Clone(out.Answers), slices.Clone(out.Open)
	if !a.gone.IsZero() {
		out.Suspects = slices.Clone(a.last)
	}
	return out
}

// Busy reports whether a fault's clients still do something.
func (c *Crowd) Busy(fault string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, a := range c.acts {
		if key.fault == fault && a.ctx.Err() == nil {
			return true
		}
	}
	return false
}

// Close ends all that anybody does.
func (c *Crowd) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.acts {
		a.stop()
	}
}

// An act is one rule at one node.
type act struct {
	rule  Rule
	login Login
	dial  func(context.Context) (net.Conn, error)

	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu    sync.Mutex
	tally Tally
	last  []Said    // conversations
	gone  time.Time // nobody heard one that began then
}

func (c *Crowd) begin(node string, r Rule) *act {
	a := &act{rule: r, login: c.login, tally: Tally{Answers: map[Answer]int64{}}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.dial = func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialBound)
		defer cancel()
		return c.dial(ctx, node)
	}
	a.all.Go(func() {
		switch r.Do {
		case Flood:
			a.flood(a.occupy)
		case Pour:
			a.flood(a.pour)
		default:
			a.talk()
		}
	})
	return a
}

func (a *act) stop() {
	a.cancel()
	a.all.Wait()
}

// talk holds one conversation after the other, at the rule's rate.
func (a *act) talk() {
	tick := time.NewTicker(time.Duration(float64(time.Second) / a.rule.RatePerS))
	defer tick.Stop()
	free := make(chan struct{}, talkers)
	for n := a.rule.First; n <= a.rule.Last; n += a.rule.Step {
		select {
		case <-a.ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case <-a.ctx.Done():
			return
		case free <- struct{}{}:
		}
		a.all.Go(func() {
			defer func() { <-free }()
			began, answer := time.Now(), Unreached
			switch conn, err := a.dial(a.ctx); {
			case err == nil:
				answer = Converse(a.rule.Seed, n, a.rule.Kind, a.login).Hold(a.ctx, conn, talkBound)
			case Ours(err):
				answer = Unsaid
			case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
				answer = Unheard
			}
			a.note(n, began, answer)
		})
	}
}

// note counts an answer, unless the end of the fault cut the conversation short.
func (a *act) note(n int, began time.Time, answer Answer) {
	if a.ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tally.Answers[answer]++
	if answer == Unsaid {
		return
	}
	unheard := answer == Unheard || answer == Unreached
	if unheard && a.gone.IsZero() {
		a.gone = began
	}
	if unheard || !a.gone.IsZero() && began.After(a.gone) {
		return
	}
	c := Converse(a.rule.Seed, n, a.rule.Kind, a.login.hidden())
	a.last = append(a.last, Said{n, c.Kind, c.Level, answer, c.hex()})
	a.last = a.last[max(0, len(a.last)-talkers):]
}

// hexBytes is how much of a packet is shown.
const hexBytes = 256

func (c Conversation) hex() (out []string) {
	for _, p := range c.Packets {
		text := hex.EncodeToString(p[:min(len(p), hexBytes)])
		if len(p) > hexBytes {
			text += "…"
		}
		out = append(out, text)
	}
	return out
}

// flood has the rule's number of connections, on each of which something is done
// until it ends, and opens again what ended.
func (a *act) flood(do func(conn net.Conn, n int)) {
	opening := make(chan struct{}, openers)
	for n := range a.rule.Connections {
		a.all.Go(func() {
			for came := false; a.ctx.Err() == nil; {
				select {
				case <-a.ctx.Done():
					return
				case opening <- struct{}{}:
				}
				conn, err := a.dial(a.ctx)
				<-opening
				if !came && !Ours(err) {
					came = true
					a.tried()
				}
				if err == nil {
					do(conn, a.rule.First+n*a.rule.Step)
				}
				select {
				case <-a.ctx.Done():
				case <-time.After(againAfter):
				}
			}
		})
	}
}

// Ours reports whether a connection failed for want of something on this host, such as files or
// ports: the node never saw the client.
func Ours(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM}, func(e error) bool { return errors.Is(err, e) })
}

func (a *act) tried() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tally.Tried++
}

// occupy holds one connection until it ends.
func (a *act) occupy(conn net.Conn, n int) {
	defer conn.Close()
	defer context.AfterFunc(a.ctx, func() { conn.SetDeadline(time.Now()) })()
	local := conn.LocalAddr().String()
	a.mu.Lock()
	a.tally.Opened++
	a.tally.Open = append(a.tally.Open, local)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.tally.Open = slices.DeleteFunc(a.tally.Open, func(s string) bool { return s == local })
	}()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for buf := make([]byte, 512); ; {
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	}()
	a.keep(conn, n, ended)
	conn.Close()
	<-ended
}

// keep sends what the rule's handshake says, until the connection ends.
func (a *act) keep(conn net.Conn, n int, ended <-chan struct{}) {
	connect := Connect(a.rule.Seed, n, a.login)
	every := time.Second
	if a.rule.Handshake == WholeHandshake {
		conn.Write(connect)
		every = keepalive / 3
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-a.ctx.Done():
			return
		case <-ended:
			return
		case <-tick.C:
		}
		switch {
		case a.rule.Handshake == WholeHandshake:
			conn.Write([]byte{0xc0, 0}) // PINGREQ
		case a.rule.Handshake == SlowHandshake && i < len(connect)-1:
			conn.Write(connect[i : i+1])
		}
	}
}
