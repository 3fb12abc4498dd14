package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mochi-mqtt/server/v2/packets"
)

// Options say which broker is examined, and how.
type Options struct {
	From, To       string        // host:port of the publishers' node and of the subscribers'; From left out is To
	User, Password string        // of every connection; "": none
	Statements     []Statement   // nil: all
	Seed           uint64        // of generated topics and filters
	Wait           time.Duration // how long a packet is waited for; 0: 10 s
	Grace          time.Duration // what may be on its way when a marker is here; 0: 200 ms
	Parallel       int           // checks at once; 0: 8
	Steps          int           // of each random walk; 0: 300, in 20 s at most
	Known          []Known       // violations that are known of this broker
	Tell           func(Result)  // told each result as soon as it is known, one at a time, and once more where a check is made again; may be nil
}

// Run runs the checks of MQTT, those that found something once more with less
// beside them, and returns their results in the order of the statements. A broker
// that cannot be connected to, or refuses its clients for another reason than their
// version, is an error; whatever else it does is a result.
func Run(ctx context.Context, o Options) ([]Result, error) {
	o = o.Whole()
	if o.Statements == nil {
		o.Statements = Statements()
	}
	speaks, err := o.greet(ctx)
	if err != nil {
		return nil, err
	}
	return o.Hold(ctx, func(s Statement, n int) Result { return o.examine(ctx, s, speaks[s.Version], n) })
}

// Whole is the options with what was left out.
func (o Options) Whole() Options {
	o.From = cmp.Or(o.From, o.To)
	o.Wait, o.Grace = cmp.Or(o.Wait, 10*time.Second), cmp.Or(o.Grace, 200*time.Millisecond)
	o.Parallel = cmp.Or(o.Parallel, 8)
	if o.Tell == nil {
		o.Tell = func(Result) {}
	}
	return o
}

// Hold makes the check of each statement, several at once and numbered from 1, and
// those that found something once more with less beside them. Where it is stopped, the
// results are those of the checks that were made, and the others are undecided, as is a
// violation that would have been looked at again.
func (o Options) Hold(ctx context.Context, check func(s Statement, n int) Result) ([]Result, error) {
	results := NotChecked(o.Statements, "it was stopped before")
	sure := make([]bool, len(results)) // of a violation
	var mu sync.Mutex
	group := errgroup.Group{}
	examine := func(i int, last bool, of func(Result) Result) {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			r := of(check(o.Statements[i], i+1))
			mu.Lock()
			defer mu.Unlock()
			results[i], sure[i] = r, last && ctx.Err() == nil
			o.Tell(r)
			return nil
		})
	}
	group.SetLimit(o.Parallel)
	for i := range results {
		examine(i, o.Parallel == 1, func(r Result) Result { return r })
	}
	group.Wait()
	group.SetLimit(max(1, o.Parallel/8))
	for i, first := range slices.Clone(results) {
		if ctx.Err() == nil && o.Parallel > 1 && doubtful(first) {
			examine(i, true, func(second Result) Result { return again(first, second) })
		}
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		for i := range results {
			if r := &results[i]; r.Verdict == Violates && doubtful(*r) && !sure[i] {
				r.Verdict, r.Why = Undecided, r.Why+"; it was stopped before that was looked at again"
			}
		}
		return results, err
	}
	return results, nil
}

// NotChecked returns the results of statements whose checks were not made, and why not.
func NotChecked(statements []Statement, why string) []Result {
	results := make([]Result, len(statements))
	for i, s := range statements {
		results[i] = Result{Statement: s, Verdict: Undecided, Why: "not checked: " + why}
	}
	return results
}

// greet connects once with each version of the statements and returns the
// results. The verdict Unsupported means that the broker does not speak the
// version.
func (o Options) greet(ctx context.Context) (map[Version]*exam, error) {
	greeted, answered, why := map[Version]*exam{}, false, ""
	for _, s := range o.Statements {
		if greeted[s.Version] != nil {
			continue
		}
		x := o.exam(s.Version, 0)
		x.run(ctx, func(x *exam) {
			x.offers = x.greet(x.to, &answered)
			if x.apart() {
				x.greet(x.from, &answered)
			}
		})
		if x.verdict == Undecided {
			return nil, fmt.Errorf("examine the broker at %s: %s", o.To, x.why)
		}
		greeted[s.Version], why = x, x.why
		answered = answered || x.verdict == Violates // also by what is no packet
	}
	if len(greeted) > 0 && !answered {
		return nil, fmt.Errorf("examine the broker at %s: %s, whatever its version; check the port (MQTT without TLS), the user name and the password", o.To, why)
	}
	return greeted, nil
}

// greet is the first connection of a version. A broker that does not speak it
// says so, or closes the connection without a word, which leaves answered alone.
func (x *exam) greet(address string, answered *bool) packets.Properties {
	c := x.dial("first", address)
	c.send(x.connection(x.token + "first"))
	connack, err := c.find(func(*packet) bool { return true }, x.soon())
	switch {
	case errors.Is(err, errLate):
		x.Undecided("no CONNACK in %v", x.wait)
	case err != nil:
		x.Unsupported("it closes the first connection without a CONNACK")
	}
	*answered = true
	switch code := connack.ReasonCode; {
	case connack.FixedHeader.Type != packets.Connack:
		x.Violates("the first packet of the broker is no CONNACK but %s", packets.PacketNames[connack.FixedHeader.Type])
	case code == 1 || code == 0x84:
		x.Unsupported("it refused the first connection with %#02x", code)
	case code != 0:
		x.Undecided("it refused the first connection with %#02x; check the user name, the password and the rights of such clients", code)
	}
	return connack.Properties
}

// doubtful reports whether a result must be seen again with an eighth of the
// checks at once, by default alone. A broker that is busy with other checks
// refuses requests that it would accept otherwise, and answers late. Known
// violations of the broker and features that it declares missing stay as they
// are.
func doubtful(r Result) bool {
	return r.Verdict != Conforms && r.Known == nil && len(r.Packets) > 0
}

// again is what two runs of a check say: it is no violation that was seen only
// beside other checks, and no pass either.
func again(first, second Result) Result {
	if first.Verdict == Violates && second.Verdict != Violates {
		first.Verdict = Undecided
		first.Why += fmt.Sprintf("; that was beside many other checks, and without them: %s", cmp.Or(second.Why, string(second.Verdict)))
		return first
	}
	return second
}

func (o Options) examine(ctx context.Context, s Statement, first *exam, n int) Result {
	switch {
	case first.verdict == Unsupported:
		return Result{Statement: s, Verdict: Unsupported, Why: fmt.Sprintf("the broker does not speak MQTT %s: %s", s.Version, first.why)}
	case first.verdict == Violates && s.Name == "connect/accepted":
		return Result{Statement: s, Verdict: Violates, Why: first.why, Known: find(o.Known, s), Packets: first.packets}
	case first.verdict == Violates:
		return Result{Statement: s, Verdict: Undecided, Why: "connect/accepted is violated already: " + first.why}
	}
	x := o.exam(s.Version, n)
	x.offers = first.offers
	if s.Group() == walkGroup {
		x.Bound = walkLimit + time.Duration(o.Steps)*stepBound
	}
	x.run(ctx, s.check)
	return x.Result(s, o.Known)
}

// tokenLetters are those that every server must take in a client id, and in the
// address of a mailbox.
const tokenLetters = "0123456789abcdefghijklmnopqrstuvwxyz"

// Token is what the names of the n-th check of a run begin with: nobody else has it.
func Token(n int) string {
	token := fmt.Sprintf("c%d", n)
	for range 8 {
		token += string(tokenLetters[rand.IntN(len(tokenLetters))])
	}
	return token
}

func (o Options) exam(v Version, n int) *exam {
	return &exam{setup: setup{
		version: v, from: o.From, to: o.To, user: o.User, password: o.Password, wait: o.Wait, grace: o.Grace,
		token: Token(n), dice: rand.New(rand.NewPCG(o.Seed, uint64(n))), steps: o.Steps,
	}}
}

// run runs a check.
func (x *exam) run(ctx context.Context, check func(*exam)) {
	x.Run(ctx, func() { check(x) }, x.clean)
}

// offer refuses a check whose feature the CONNACK of MQTT 5 says is not there.
func (x *exam) offer(there bool, what string) {
	if !there {
		x.Unsupported("the broker's CONNACK says that it has no %s", what)
	}
}

func (x *exam) needsRetain() {
	x.offer(!(x.offers.RetainAvailableFlag && x.offers.RetainAvailable == 0), "retained messages")
}

func (x *exam) needsWildcards() {
	x.offer(!(x.offers.WildcardSubAvailableFlag && x.offers.WildcardSubAvailable == 0), "wildcard subscriptions")
}

func (x *exam) needsShared() {
	x.offer(!(x.offers.SharedSubAvailableFlag && x.offers.SharedSubAvailable == 0), "shared subscriptions")
}

func (x *exam) needsIdentifiers() {
	x.offer(!(x.offers.SubIDAvailableFlag && x.offers.SubIDAvailable == 0), "subscription identifiers")
}

func (x *exam) needsQoS(qos byte) { x.offer(x.offersQoS(qos), fmt.Sprintf("QoS %d", qos)) }

func (x *exam) offersQoS(qos byte) bool {
	return !x.offers.MaximumQosFlag || qos <= x.offers.MaximumQos
}

// needsSize refuses a check that sends a packet of so many bytes to a broker that
// takes none.
func (x *exam) needsSize(bytes int) {
	if limit := int(x.offers.MaximumPacketSize); limit > 0 && bytes > limit {
		x.Unsupported("the broker's own maximum is %d bytes, and the packet of this check has %d", limit, bytes)
	}
}

// unanswered is how many messages, of those that a check would send at once, the
// broker takes before it has acknowledged one.
func (x *exam) unanswered(all int) int {
	if limit := int(x.offers.ReceiveMaximum); limit > 0 {
		return min(all, limit)
	}
	return all
}

// publisher is a packet of type PUBLISH, for those who change it.
func publisher(topic string, qos byte, id uint16, payload []byte) packets.Packet {
	return packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: qos}, TopicName: topic, PacketID: id, Payload: payload}
}
