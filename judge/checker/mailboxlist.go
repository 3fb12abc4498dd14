package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimMQ9MailboxList = Entry{
	Claim: verdict.Claim{Name: ClaimMailboxList, Severity: verdict.P2, Gated: true,
		Text:   "A node lists every registered mailbox and no expired one, at the latest expiry_s (the scenario's bound) after it was made or expired.",
		Source: "RobustMQ docs/en/Api/MQ9.md, Mailbox List; mq9 protocol.md, Core Concepts"},
	Category: Safety, Checker: "mailboxlist@2", Protocols: mq9, Rests: history.PromiseMailboxes, New: newMailboxList, NeedsComplete: true, Timed: true, Bounded: true, canary: hide,
}

// ClaimMailboxList is the claim for which the harness lists mailboxes.
const ClaimMailboxList = "mq9-mailbox-list"

// mailboxList judges the lists of mailboxes that nodes give. A list must have every
// mailbox that was made, once, and none whose time is over. A node may learn of either
// some time later. Lists read while a fault is in place, or soon after, are not judged.
// After a clock was changed only mailboxes that last are.
type mailboxList struct {
	ledger  *ledger
	slack   int64
	after   int64 // how long after a fault nothing is judged
	clocked bool  // a fault changed a clock
	births  map[string]*birth
	names   []string         // of births, in order
	asked   map[int64]string // requests to make one, by row
	open    map[int16]*listing
	lists   []*listing
	found   findings
}

// A birth is when a mailbox was made.
type birth struct {
	box
	known bool // its time to live was asked for as the tables say
}

// A listing is one look at a node's list.
type listing struct {
	node             int16
	called, returned int64
	index            int64 // of its call
	has              map[string]int64
	twice            []twin
}

// A twin is a mailbox that one list has twice, with its rows.
type twin struct {
	name       string
	had, again int64
}

func newMailboxList(ctx Context) Checker {
	c := &mailboxList{
		ledger: ctx.ledger, slack: expirySlack(ctx), after: int64(ctx.Run.Budget.RecoveryS * 1e9), clocked: clocked(ctx),
		births: map[string]*birth{}, asked: map[int64]string{}, open: map[int16]*listing{},
	}
	for _, s := range ctx.Tables.Streams {
		if c.births[s.Topic] == nil {
			c.births[s.Topic] = &birth{newBox(int64(ofMailboxes(s)) * second), !c.unsaid(s.Topic)}
			c.names = append(c.names, s.Topic)
		}
	}
	return c
}

// unsaid reports whether the maker of a mailbox may not have said how long it lives.
func (c *mailboxList) unsaid(mailbox string) bool {
	return slices.ContainsFunc(c.ledger.tables.Processes, func(p history.Process) bool {
		return slices.Contains(p.Cannot, contract.CannotFetch) && slices.ContainsFunc(p.Filters, func(f history.Filter) bool { return mailboxOf(f.Filter) == mailbox })
	})
}

func (c *mailboxList) Add(b *history.Batch) {
	for _, i := range c.ledger.rows(b).control {
		i := int(i)
		switch {
		case b.Kind[i] == history.KindSubscribe && b.Edge[i] == history.Call:
			mailbox := mailboxOf(b.Text(i))
			if x := c.births[mailbox]; x != nil {
				x.ask(b, i)
				c.asked[b.Index[i]] = mailbox
			}
		case b.Kind[i] == history.KindSubscribe:
			if x := c.births[c.asked[b.Call[i]]]; x != nil {
				x.answer(b, i)
				delete(c.asked, b.Call[i])
			}
		case b.Kind[i] == history.KindFetch && b.Process[i] == history.None:
			c.list(b, i)
		}
	}
}

func (c *mailboxList) list(b *history.Batch, i int) {
	node := b.Node[i]
	at := c.open[node]
	switch {
	case b.Edge[i] == history.Call && b.Text(i) == history.FetchMailboxes:
		c.open[node] = &listing{node: node, called: b.Time[i], index: b.Index[i], has: map[string]int64{}}
	case at == nil:
	case b.Edge[i] == history.Point:
		name := b.Text(i)
		if had, twice := at.has[name]; twice {
			at.twice = append(at.twice, twin{name, had, b.Index[i]})
		}
		at.has[name] = b.Index[i]
	case b.Edge[i] == history.Return && b.Call[i] == at.index: // and not of another question to the node
		delete(c.open, node)
		if at.returned = b.Time[i]; b.Outcome[i] == history.OK && !c.ledger.disturbed(at.called-c.after, at.returned) {
			c.lists = append(c.lists, at)
		}
	}
}

func (c *mailboxList) add(kind string, at *listing, name, what string, rows ...int64) {
	fault := c.ledger.fault(at.called)
	c.found.add(verdict.Anomaly{
		Kind: kind, Process: history.None, Stream: history.None, Seq: history.None, TimeNS: at.called, Fault: fault,
		Events: events(append(rows, at.index)...),
		Text:   sentence("mailbox %s %s by %s at %s%s", name, what, c.ledger.node(at.node), clock(at.called), under(fault)),
	})
}

func (c *mailboxList) Result(*closing) verdict.Result {
	judged, twice, byClock := int64(0), c.found, false
	for _, x := range c.births {
		x.settle()
	}
	for _, at := range c.lists {
		for _, t := range at.twice {
			c.add("duplicated", at, t.name, "is listed twice", t.had, t.again)
		}
		for _, name := range c.names {
			x := c.births[name]
			row, there := at.has[name]
			switch {
			case x.made == never || x.life > 0 && !x.known:
			case x.life > 0 && c.clocked:
				byClock = true
			case at.called >= x.made+c.slack && (x.life == 0 || at.returned < x.earliest()):
				judged++
				if !there {
					c.add("missing", at, name, sentence("was made at %s and is not listed", clock(x.made)))
				}
			case x.life > 0 && at.called >= x.made+x.life+c.slack && at.returned < x.again:
				judged++
				if there {
					c.add("late", at, name, sentence("expired at %s and is still listed", clock(x.made+x.life)), row)
				}
			}
		}
	}
	found := c.found
	c.found = twice // it may be asked again
	r := found.judged(judged, map[string]int64{"lists": int64(len(c.lists)), "mailboxes": int64(len(c.names)), "violations": found.total},
		"no list was read when it was known what is to be in it")
	if r.Status != verdict.Fail && byClock {
		return unjudged(whyClocked)
	}
	if silent := c.silent(); r.Status == verdict.Pass && silent != "" {
		r.Status, r.Summary = verdict.Unknown, sentence("no list of %s was read while all was well", silent)
		r.Reasons = []string{r.Summary}
		return r
	}
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("%d lists had every mailbox that was to be there, and none that had expired", len(c.lists))
	case verdict.Fail:
		r.Summary = summary("%d entries of %d lists were wrong, the first: %s", found.total, len(c.lists), r.Anomalies[0].Text)
	}
	return r
}

// silent names a node without a judged list, "" for none.
func (c *mailboxList) silent() string {
	for n := range c.ledger.tables.Nodes {
		if !slices.ContainsFunc(c.lists, func(at *listing) bool { return int(at.node) == n }) {
			return c.ledger.node(int16(n))
		}
	}
	return ""
}

func (c *mailboxList) fork() Checker {
	f := *c
	f.asked = maps.Clone(c.asked)
	f.births, f.open, f.lists, f.found = map[string]*birth{}, map[int16]*listing{}, slices.Clone(c.lists), c.found.fork()
	for name, x := range c.births {
		f.births[name] = &birth{x.fork(), x.known}
	}
	for node, at := range c.open {
		twin := *at
		twin.has, twin.twice = maps.Clone(at.has), slices.Clone(at.twice)
		f.open[node] = &twin
	}
	return &f
}

// hide takes one mailbox that lasts out of every list.
func hide(ctx Context) *mutation {
	lasts := map[string]bool{}
	for _, s := range ctx.Tables.Streams {
		lasts[s.Topic] = s.MailboxTTLS == 0
	}
	m := &mutation{idle: "no mailbox that lasts was listed"}
	hidden := ""
	m.apply = func(b *history.Batch) *history.Batch {
		return picked(b, func(i int) bool {
			listed := b.Kind[i] == history.KindFetch && b.Edge[i] == history.Point
			if listed && hidden == "" && lasts[b.Text(i)] {
				hidden = b.Text(i)
				m.did = sentence("took mailbox %s out of every list", hidden)
			}
			return !listed || b.Text(i) != hidden || hidden == ""
		})
	}
	return m
}
