package mq9

import (
	"encoding/json"
	"strings"
	"time"
)

const (
	citeFetchRequest = "protocol.md#fetch-request-fields"
	citeFetchReply   = "protocol.md#fetch-response-fields"
	citeDeliver      = "protocol.md#deliver-policy"
	citeConfig       = "protocol.md#config-fields"
	citeStateless    = "protocol.md#stateless-consumption-group_name-omitted"
)

// fetching is FETCH without a group.
func fetching() []entry {
	return []entry{
		{"fetch/fields", citeFetchReply, must, "a message has msg_id, payload, priority and create_time", fetchFields},
		{"fetch/earliest", citeDeliver, must, "earliest begins with the oldest message", fetchEarliest},
		{"fetch/latest", citeDeliver, must, "latest leaves out what was there before, but at most the last message", fetchLatest},
		{"fetch/default", citeFetchRequest, must, "without deliver it is latest", fetchDefault},
		{"fetch/from-id", citeDeliver, must, "from_id begins with the message of that id", fetchFromID},
		{"fetch/from-time", citeDeliver, must, "from_time begins with what came after that time", fetchFromTime},
		{"fetch/again", citeStateless, must, "without a group nothing is remembered: each call begins anew", fetchAgain},
		{"fetch/num-msgs", citeConfig, must, "num_msgs is the most that a call returns", fetchMost},
		{"fetch/num-msgs-default", citeConfig, must, "without num_msgs a call returns at most 100", fetchHundred},
		{"fetch/waits", citeConfig, should, "a call that waits for max_wait_ms, because there is nothing, returns a message that comes meanwhile", fetchWaits},
		{"fetch/wait-ends", citeConfig, must, "a call that nothing comes for returns an empty list when max_wait_ms is over, and at once where it is 0", waitEnds},
		{"fetch/wait-default", citeConfig, must, "without max_wait_ms a call that nothing comes for waits for half a second", waitsHalfASecond},
		{"fetch/no-mailbox", citeFetchReply, must, "an unknown mailbox is an error", fetchNobody},
		{"fetch/deliver-wrong", citeDeliver, should, "a deliver that the page does not know is an error", deliverWrong},
	}
}

func fetchFields(x *exam) {
	at := x.create("a")
	x.send(at, "m", "mq9-priority", "urgent")
	x.fetches("sent", at, earliest, "m")
	r := x.in().done(subjectFetch+at, x.body(earliest...))
	var all []map[string]json.RawMessage
	if json.Unmarshal(r.object["messages"], &all) != nil || len(all) != 1 {
		x.Violates("one message was sent, the reply is %s", r)
	}
	for _, field := range []string{"msg_id", "payload", "priority", "create_time"} {
		if len(all[0][field]) == 0 {
			x.Violates("the message has no %s: %s", field, r)
		}
	}
}

func fetchEarliest(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2", "m3")
	x.fetches("from the oldest on, in the order of sending", at, earliest, "m1", "m2", "m3")
}

func fetchLatest(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2")
	x.fetches("sent", at, earliest, "m1", "m2")
	notOld(x, "a call with latest", x.fetch(at, "deliver", "latest"), "m2")
}

func fetchDefault(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2")
	x.fetches("sent", at, earliest, "m1", "m2")
	notOld(x, "a call without deliver", x.fetch(at), "m2")
}

func fetchFromID(x *exam) {
	at := x.create("a")
	ids := x.sendAll(at, "m1", "m2", "m3", "m4")
	x.fetches("from the third one on", at, []any{"deliver", "from_id", "from_id", ids[2]}, "m3", "m4")
	x.fetches("from the first one on", at, []any{"deliver", "from_id", "from_id", ids[0]}, "m1", "m2", "m3", "m4")
	x.fetches("from the last one on", at, []any{"deliver", "from_id", "from_id", ids[3]}, "m4")
}

func fetchFromTime(x *exam) {
	at, middle := twoTimes(x)
	x.fetches("from a time between them on", at, []any{"deliver", "from_time", "from_time", middle}, "new 1", "new 2")
	x.fetches("from a time before them on", at, []any{"deliver", "from_time", "from_time", middle - 100}, "old 1", "old 2", "new 1", "new 2")
}

// twoTimes makes a mailbox with messages of two times, and returns it with a time
// between them, in seconds of the broker's own clock.
func twoTimes(x *exam) (at string, middle int64) {
	const apart = 4 // seconds
	at = x.create("a")
	x.sendAll(at, "old 1", "old 2")
	x.fetches("sent", at, earliest, "old 1", "old 2")
	x.After(apart * time.Second)
	x.sendAll(at, "new 1", "new 2")
	got := x.fetches("sent", at, earliest, "old 1", "old 2", "new 1", "new 2")
	unit := int64(1)
	if got[1].Created > 1e11 { // the page gives create_time no unit
		unit = 1000
	}
	last, first := got[1].Created/unit, got[2].Created/unit
	if first-last < apart/2 {
		x.Undecided("create_time is %d and %d of messages that were sent %d s apart", got[1].Created, got[2].Created, apart)
	}
	return at, last + (first-last)/2
}

func fetchAgain(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2")
	x.fetches("sent", at, earliest, "m1", "m2")
	for range 3 {
		x.are("each call begins anew", x.fetch(at, earliest...), "m1", "m2")
	}
}

func fetchMost(x *exam) {
	at := x.create("a")
	x.sendAll(at, numbered(7)...)
	x.fetches("sent", at, earliest, numbered(7)...)
	for _, n := range []int{1, 3, 7} {
		x.are("the first of seven", x.fetch(at, append([]any{"config", most(n)}, earliest...)...), numbered(n)...)
	}
}

func fetchHundred(x *exam) {
	at := x.create("a")
	ids := x.sendAll(at, numbered(120)...)
	x.fetches("from the last one on", at, []any{"deliver", "from_id", "from_id", ids[119]}, "m119")
	if got := x.mails(x.in().done(subjectFetch+at, x.body(earliest...))); len(got) > 100 {
		x.Violates("of 120 messages a call returns %d", len(got))
	}
}

// longWait is how long a call waits in checks of that, in milliseconds.
const longWait = 3000

func waiting(ms int) map[string]any { return map[string]any{"max_wait_ms": ms} }

func fetchWaits(x *exam) {
	at := x.create("a")
	x.fetch(at, earliest...) // its node serves it
	waits := x.in().request(subjectFetch+at, x.body("deliver", "earliest", "config", waiting(longWait)))
	x.After(longWait / 4 * time.Millisecond)
	x.send(at, "m")
	stored := time.Now()
	r, ok := waits.tryReply(x.wait + longWait*time.Millisecond)
	if !ok {
		x.in().missing(waits.subject)
	}
	if time.Since(stored) < longWait/4*time.Millisecond && len(x.mails(r)) == 0 {
		x.Undecided("the message was stored only %v before the call ended", time.Since(stored).Round(time.Millisecond))
	}
	if got := x.mails(r); len(got) != 1 || got[0].Payload != "m" {
		x.Violates("a message came %d ms after a call that waits for %d ms, which returned %s", longWait/4, longWait, list(payloadsOf(got)))
	}
}

// empties is how long a FETCH of an empty mailbox takes.
func (x *exam) empties(at string, fields ...any) time.Duration {
	x.fetch(at, earliest...) // its node serves it
	began := time.Now()
	r, ok := x.in().request(subjectFetch+at, x.body(fields...)).tryReply(x.wait + longWait*time.Millisecond)
	if !ok {
		x.in().missing(subjectFetch + at)
	}
	if r.failed() || len(x.mails(r)) > 0 {
		x.Violates("of an empty mailbox the reply is %s", r)
	}
	return time.Since(began)
}

func waitsHalfASecond(x *exam) {
	if d := x.empties(x.create("a"), earliest...); d < 450*time.Millisecond {
		x.Violates("it returned nothing after %v", d.Round(time.Millisecond))
	}
}

func waitEnds(x *exam) {
	at := x.create("a")
	took := func(ms int) time.Duration { return x.empties(at, "deliver", "earliest", "config", waiting(ms)) }
	if d := took(longWait); d < longWait*time.Millisecond*9/10 {
		x.Violates("a call that may wait for %d ms returned nothing after %v", longWait, d.Round(time.Millisecond))
	}
	// One that is on time shows that it does not wait; a busy machine may be late.
	if d := min(took(0), took(0), took(0)); d > longWait*time.Millisecond*9/10 {
		x.Violates("a call that may not wait took %v", d.Round(time.Millisecond))
	}
}

func fetchNobody(x *exam) {
	for _, fields := range [][]any{nil, earliest, x.group("g")} {
		r := x.in().refused(subjectFetch+x.address("nobody"), x.body(fields...))
		if strings.TrimSpace(r.text("error")) == "" {
			x.Violates("the reply is %s", r)
		}
	}
}

func deliverWrong(x *exam) {
	at := x.create("a")
	for _, deliver := range []any{"newest", 1, "EARLIEST"} {
		x.in().refused(subjectFetch+at, x.body("deliver", deliver))
	}
}
