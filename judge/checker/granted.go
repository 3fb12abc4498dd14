package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimQoSGranted = Entry{
	Claim: verdict.Claim{Name: "qos-granted", Severity: verdict.P2,
		Text:   "The QoS of Payload Messages sent in response to a Subscription MUST be the minimum of the QoS of the originally published message and the maximum QoS granted by the Server.",
		Source: "MQTT 3.1.1 section 3.8.4 [MQTT-3.8.4-6]; MQTT 5.0 section 3.8.4 [MQTT-3.8.4-8]"},
	Category: Safety, Checker: "granted@5", Protocols: mqtt, Rests: history.PromiseProtocol, New: newGranted, canary: raise,
}

// granted judges the QoS that deliveries come with, against what SUBACK had granted for
// their filter at the time. A message that was published before a client subscribed
// again may still have the QoS of the grant before. Deliveries before SUBACK are judged
// at the end.
type granted struct {
	ledger *ledger
	at     []int32 // by pair: its filter's place in grants, None for none or several
	places map[subscriber]int32
	grants [][]granting // by filter
	now    []uint8      // by filter: the last grant, or unsaid
	calls  map[int64]subscriber
	seen   int64
	wrong  [][3]arrivals // by pair
	early  []earlier
}

// A subscriber is a filter of a process.
type subscriber struct {
	process int32
	filter  string
}

// A granting is what one SUBSCRIBE was granted.
type granting struct {
	call, from, to int64 // row of the call; times of the call and of the return
	qos            uint8 // or unsaid
}

const (
	unsaid   = 0x80    // no QoS was granted that is known, so that any is right
	maxEarly = 1 << 16 // deliveries before SUBACK that are kept
)

// arrivals are the deliveries of one pair that came with one wrong QoS.
type arrivals struct {
	n            int64
	index, time  int64 // of the first
	seq          int64
	qos, granted uint8
}

// An earlier is a delivery that came while a SUBSCRIBE was not answered, or before its publish was recorded.
type earlier struct {
	pair int32
	arrivals
}

func newGranted(ctx Context) Checker {
	l := ctx.ledger
	c := &granted{
		ledger: l,
		at:     slices.Repeat([]int32{history.None}, len(l.route.pairs)),
		places: map[subscriber]int32{},
		calls:  map[int64]subscriber{},
		wrong:  make([][3]arrivals, len(l.route.pairs)),
	}
	for p, row := range l.tables.Processes {
		if slices.Contains(row.Cannot, contract.CannotGrantedQoS) {
			continue
		}
		for _, f := range row.Filters {
			place := int32(len(c.grants))
			c.places[subscriber{int32(p), f.Filter}], c.grants = place, append(c.grants, nil)
			c.now = append(c.now, unsaid)
			for s, st := range l.tables.Streams {
				if i := l.route.at(int32(p), int32(s)); history.Matches(f.Filter, st.Topic) && l.route.pairs[i].filters+l.route.pairs[i].shared == 1 {
					c.at[i] = place
				}
			}
		}
	}
	return c
}

func (c *granted) Add(b *history.Batch) {
	rows := c.ledger.rows(b)
	control := rows.control
	for _, d := range rows.delivered { // both in their order
		for len(control) > 0 && control[0] < d.i {
			c.subscribe(b, int(control[0]))
			control = control[1:]
		}
		c.deliver(b, d)
	}
	for _, i := range control {
		c.subscribe(b, int(i))
	}
}

func (c *granted) subscribe(b *history.Batch, i int) {
	if b.Kind[i] != history.KindSubscribe {
		return
	}
	if b.Edge[i] == history.Call {
		of := subscriber{b.Process[i], b.Text(i)}
		if place, ok := c.places[of]; ok {
			c.calls[b.Index[i]] = of
			c.grants[place] = append(c.grants[place], granting{b.Index[i], b.Time[i], never, unsaid})
			c.now[place] = unsaid
		}
		return
	}
	of, ok := c.calls[b.Call[i]]
	delete(c.calls, b.Call[i])
	if !ok || b.Outcome[i] != history.OK || b.Reason[i] > 2 {
		return
	}
	place := c.places[of]
	list := c.grants[place]
	for k := range list {
		if list[k].call == b.Call[i] {
			list[k].to, list[k].qos = b.Time[i], b.Reason[i]
		}
	}
	if last := list[len(list)-1]; last.to != never {
		c.now[place] = last.qos
	}
}

func (c *granted) deliver(b *history.Batch, d delivery) {
	if d.pair < 0 || c.at[d.pair] == history.None || b.QoS[d.i] > 2 || !c.ledger.plain(d) {
		return
	}
	place := c.at[d.pair]
	if q := c.now[place]; q != unsaid && b.QoS[d.i] == min(c.ledger.route.pairs[d.pair].sent, q) {
		c.seen++ // as nearly all are
		return
	}
	list := c.grants[place]
	if len(list) == 0 {
		return
	}
	a := arrivals{1, b.Index[d.i], b.Time[d.i], d.seq, b.QoS[d.i], 0}
	if last := &list[len(list)-1]; last.to == never || len(list) > 1 && c.ledger.sends.find(b.Stream[d.i], d.seq) == nil {
		if len(c.early) < maxEarly {
			c.early = append(c.early, earlier{d.pair, a})
		}
		return
	}
	c.judge(d.pair, a)
}

// judge takes a delivery, with all that was granted until then.
func (c *granted) judge(pair int32, a arrivals) {
	list := c.grants[c.at[pair]]
	for len(list) > 0 && list[len(list)-1].from > a.time {
		list = list[:len(list)-1]
	}
	if len(list) == 0 || list[len(list)-1].qos == unsaid {
		return
	}
	c.seen++
	a.granted = list[len(list)-1].qos
	sent := c.ledger.route.pairs[pair].sent
	if a.qos == min(sent, a.granted) || c.flies(pair, a, list) {
		return
	}
	if w := &c.wrong[pair][a.qos]; w.n == 0 {
		*w = a
	} else {
		w.n++
	}
}

// flies reports whether a message may have been on its way when its subscriber
// subscribed anew, with the QoS that was granted before.
func (c *granted) flies(pair int32, a arrivals, list []granting) bool {
	if len(list) == 1 {
		return false
	}
	m := c.ledger.sends.find(pair%int32(c.ledger.route.streams), a.seq)
	for i := len(list) - 2; m != nil && i >= 0 && list[i+1].to >= m.called; i-- {
		if q := list[i].qos; q == unsaid || a.qos == min(c.ledger.route.pairs[pair].sent, q) {
			return true
		}
	}
	return false
}

func (c *granted) Result(*closing) verdict.Result {
	for _, e := range c.early {
		c.judge(e.pair, e.arrivals)
	}
	c.early = nil
	var found findings
	var wrong int64
	for i := range c.wrong {
		p, s := int32(i/c.ledger.route.streams), int32(i%c.ledger.route.streams)
		for _, a := range c.wrong[i] {
			if a.n == 0 {
				continue
			}
			wrong += a.n
			v := verdict.Anomaly{
				Kind: "wrong QoS", Process: p, Stream: s, Seq: a.seq, TimeNS: a.time,
				Fault: c.ledger.fault(a.time), Events: events(a.index),
			}
			v.Text = sentence("%s reached %s with QoS %d, granted was %d; with it %d further ones of this stream", c.ledger.message(s, a.seq), c.ledger.process(p), a.qos, a.granted, a.n-1)
			c.ledger.accuse(&v, c.ledger.wire.raisedBy(p, s, a.seq, a.index, a.granted, a.qos))
			found.add(v)
		}
	}
	r := found.judged(c.seen, map[string]int64{"delivered": c.seen, "wrong_qos": wrong}, "nothing was delivered on a subscription that was granted a QoS")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("all of %d deliveries came with the lower of the published and the granted QoS", c.seen)
	case verdict.Fail:
		r.Summary = summary("%d of %d deliveries came with a wrong QoS, the first: %s", wrong, c.seen, r.Anomalies[0].Text)
	}
	return r
}

// raise delivers the first message of each stream to each subscriber with a QoS other
// than its own.
func raise(ctx Context) *mutation {
	l := ctx.ledger
	raised := make([]bool, len(l.route.pairs))
	m := &mutation{idle: "nothing was delivered"}
	m.apply = func(b *history.Batch) *history.Batch {
		c := b
		for _, d := range l.rows(b).delivered {
			if d.pair < 0 || raised[d.pair] || !l.plain(d) {
				continue
			}
			if c == b {
				changed := *b
				changed.QoS = slices.Clone(b.QoS[:b.N])
				c = &changed
			}
			c.QoS[d.i] = (b.QoS[d.i] + 1) % 3
			raised[d.pair] = true
			m.did = "delivered the first message of each stream to each subscriber with another QoS"
		}
		return c
	}
	return m
}

func (c *granted) fork() Checker {
	f := *c
	f.grants = forks(c.grants, func(list []granting) []granting { return slices.Clone(list) })
	f.now, f.calls, f.wrong, f.early = slices.Clone(c.now), maps.Clone(c.calls), slices.Clone(c.wrong), slices.Clone(c.early)
	return &f
}
