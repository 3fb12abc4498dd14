package checker

import (
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSDKLives = Entry{
	Claim: verdict.Claim{Name: "sdk-lives", Severity: verdict.P1, Of: verdict.SDK, Wire: true,
		Text:   "A client library does not end its process, whatever the broker does.",
		Source: "common expectation of a library"},
	Category: Operational, Checker: "lives@3", Protocols: mqtt, New: newLives, canary: kill,
}

// lives judges that a client does not end on its own. A process killed by a fault or by
// the host is not held against its SDK.
type lives struct {
	ledger *ledger
	ended  int64
	found  findings
}

// diedText is in the row of a driver that ended without having been told to.
const diedText = "it ended without bye ("

// died reports whether a driver's row says that it ended on its own: by a crash
// of any kind.
func died(text string) bool {
	_, how, ended := strings.Cut(text, diedText)
	return ended && !history.EndedByOthers(how)
}

func newLives(ctx Context) Checker { return &lives{ledger: ctx.ledger} }

func (c *lives) fork() Checker {
	f := *c
	f.found = c.found.fork()
	return &f
}

func (c *lives) Add(b *history.Batch) {
	for _, i := range c.ledger.rows(b).control {
		if b.Kind[i] != history.KindDriver || !c.concerns(b.Process[i]) {
			continue
		}
		text := b.Text(int(i))
		if strings.HasPrefix(text, "ended: ") {
			c.ended++
		}
		if died(text) {
			fault := c.ledger.fault(b.Time[i])
			c.found.add(verdict.Anomaly{
				Kind: "died", Process: b.Process[i], Stream: history.None, Seq: history.None, TimeNS: b.Time[i], Fault: fault,
				Events: events(b.Index[i]), Blame: verdict.SDK,
				Text: sentence("a client's process ended at %s%s: %s", clock(b.Time[i]), under(fault), text),
			})
		}
	}
}

// concerns reports whether a driver's row is of the tested SDK. The rows of old runs name
// no process.
func (c *lives) concerns(process int32) bool {
	return process == history.None || c.ledger.tests(process)
}

func (c *lives) Result(*closing) verdict.Result {
	r := c.found.judged(c.ended, map[string]int64{"processes": c.ended, "died": c.found.total}, "no client's process ended")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("none of %d processes of clients ended on its own", c.ended)
	case verdict.Fail:
		r.Summary = summary("%d of %d processes of clients ended on their own, the first: %s", c.found.total, c.ended, r.Anomalies[0].Text)
	}
	return r
}

// kill ends a client's process.
func kill(Context) *mutation {
	m := &mutation{}
	m.end = func() []history.Event {
		m.did = "ended a client's process"
		return []history.Event{{
			Index: history.None, Call: history.None, Process: history.None, Conn: history.None, Kind: history.KindDriver,
			Node: history.None, Stream: history.None, Seq: history.None, ID: history.None, Text: diedText + "exit status 1)",
		}}
	}
	return m
}
