package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// mostMoments is how many moments of a story the report tells.
const mostMoments = 40

// mostLogged is how many lines of a node around a fault a story has.
const mostLogged = 2

// A Story is what was recorded of one message that breaks a claim, in order of time, among the
// connections of its publisher and its subscriber, the faults, and the ends of nodes.
type Story struct {
	Claim   string   `json:"claim"`
	Message string   `json:"message"` // what happened to it, as the claim's first violation says it
	Moments []Moment `json:"moments"`
	Cut     int      `json:"cut,omitempty"` // moments left out, in the middle
}

// A Moment is one thing that was recorded.
type Moment struct {
	AtNS int64  `json:"at_ns"`
	Text string `json:"text"`
}

// A storyteller collects the moments of one message from a history.
type storyteller struct {
	story      Story
	tables     *history.Tables
	of         verdict.Anomaly
	publisher  int32
	published  bool
	connection map[int32]Moment // the last of each client before that
}

// tell begins the story of the most severe failed claim's first message; nil if there is none.
func tell(v verdict.Verdict, tables *history.Tables) *storyteller {
	var of *verdict.Anomaly
	claim, severity := "", ""
	for _, r := range v.Results {
		worse := verdict.Severity([]verdict.Result{r})
		if r.Status != verdict.Fail || severity != "" && worse >= severity {
			continue
		}
		if i := slices.IndexFunc(r.Anomalies, func(a verdict.Anomaly) bool {
			return a.Stream >= 0 && int(a.Stream) < len(tables.Streams) && a.Seq >= 0
		}); i >= 0 {
			of, claim, severity = &r.Anomalies[i], r.Claim.Name, worse
		}
	}
	if of == nil {
		return nil
	}
	return &storyteller{
		story: Story{Claim: claim, Message: of.Text}, tables: tables, of: *of,
		publisher: tables.Streams[of.Stream].Producer, connection: map[int32]Moment{},
	}
}

// Add collects what a batch has of the message.
func (t *storyteller) Add(b *history.Batch) {
	if t == nil {
		return
	}
	for i := range b.N {
		ours := b.Stream[i] == t.of.Stream && b.Seq[i] == t.of.Seq
		client := b.Process[i] >= 0 && (b.Process[i] == t.publisher || b.Process[i] == t.of.Process)
		if !ours && !client && b.Kind[i] != history.KindObserve {
			continue
		}
		e := b.Event(i)
		if ours {
			t.message(e)
		} else {
			t.around(e)
		}
	}
}

// message is a row about the message itself.
func (t *storyteller) message(e history.Event) {
	who, node := t.client(e.Process), t.at(e.Node)
	switch {
	case e.Kind == history.KindPublish && e.Edge == history.Call:
		if !t.published {
			t.published = true
			for _, p := range slices.Sorted(maps.Keys(t.connection)) {
				t.story.Moments = append(t.story.Moments, t.connection[p])
			}
		}
		t.step(e.Time, "%s publishes it%s", who, node)
	case e.Kind == history.KindPublish && e.Edge == history.Return && e.Outcome == history.OK:
		t.step(e.Time, "the broker acknowledges it to %s%s", who, node)
	case e.Kind == history.KindPublish && e.Edge == history.Return:
		t.step(e.Time, "the publish of %s ends with the outcome %s%s", who, e.Outcome, because(e.Text))
	case e.Kind == history.KindDeliver:
		again := ""
		if e.Flags.Has(history.FlagDup) {
			again = ", with DUP"
		}
		t.step(e.Time, "%s receives it%s%s", who, node, again)
	case e.Kind == history.KindPacket:
		direction := "→"
		if e.Flags.Has(history.FlagToClient) {
			direction = "←"
		}
		t.step(e.Time, "on the wire: %s %s %s%s", who, direction, e.Text, node)
	}
}

// around is a row about one of its clients, or about a node.
func (t *storyteller) around(e history.Event) {
	step := Moment{AtNS: int64(e.Time)}
	who := t.client(e.Process)
	switch {
	case e.Kind == history.KindConnect && e.Edge == history.Return && e.Outcome == history.OK:
		step.Text = fmt.Sprintf("%s connects%s%s", who, t.at(e.Node), t.session(e))
	case e.Kind == history.KindDisconnect:
		step.Text = fmt.Sprintf("the connection of %s ends%s", who, because(e.Text))
	case e.Kind == history.KindPause:
		step.Text = who + " stops reading"
	case e.Kind == history.KindResume:
		step.Text = who + " reads again"
	case e.Kind == history.KindObserve && e.Text == history.ObserveExit:
		step.Text = fmt.Sprintf("the process of the broker%s ends", t.at(e.Node))
	default:
		return
	}
	if !t.published && e.Process >= 0 { // only the last before the message matters
		t.connection[e.Process] = step
		return
	}
	t.story.Moments = append(t.story.Moments, step)
}

// session says whether a client found its session, if it asked for one that lasts.
func (t *storyteller) session(e history.Event) string {
	if p := t.tables.Processes; int(e.Process) >= len(p) || p[e.Process].Clean || p[e.Process].Protocol == contract.MQ9 {
		return ""
	}
	if e.Flags.Has(history.FlagSessionPresent) {
		return " and finds its session"
	}
	return " and finds no session"
}

func (t *storyteller) step(at time.Duration, format string, args ...any) {
	t.story.Moments = append(t.story.Moments, Moment{int64(at), fmt.Sprintf(format, args...)})
}

// end ends the story with the faults and what nodes logged around them, and for a lost message
// with the end of the run.
func (t *storyteller) end(r *Report, end time.Duration) *Story {
	if t == nil || !t.published {
		return nil
	}
	for _, l := range r.Landings {
		if l.Times.AppliedNS == 0 {
			continue
		}
		t.step(time.Duration(l.Times.StartNS()), "**%s begins: %s of %s**", l.Fault, l.Type, cmp.Or(joined(l.Nodes, ", "), l.Target))
		if l.Times.HealNS > 0 {
			t.step(time.Duration(l.Times.HealNS), "**%s is healed**", l.Fault)
		}
	}
	for _, l := range r.FaultLogs {
		for _, line := range l.Lines[:min(len(l.Lines), mostLogged)] {
			t.step(time.Duration(line.AtNS), "%s logs: %s", l.Node, plain.Cut(line.Text, maxValue))
		}
	}
	slices.SortStableFunc(t.story.Moments, func(a, b Moment) int { return int(min(max(a.AtNS-b.AtNS, -1), 1)) })
	if t.of.Kind == verdict.KindLost && t.of.Process >= 0 {
		t.step(end, "the run ends, and %s has not received it", t.client(t.of.Process))
	}
	if more := len(t.story.Moments) - mostMoments; more > 0 {
		t.story.Cut = more
		t.story.Moments = slices.Delete(t.story.Moments, mostMoments/2, mostMoments/2+more)
	}
	return &t.story
}

func (t *storyteller) client(process int32) string {
	if process >= 0 && int(process) < len(t.tables.Processes) {
		return t.tables.Processes[process].Name
	}
	return "an unknown client"
}

func (t *storyteller) at(node int16) string {
	if node >= 0 && int(node) < len(t.tables.Nodes) {
		return " at " + t.tables.Nodes[node].Name
	}
	return ""
}

// because is what a row says of itself, "" if it says nothing.
func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
