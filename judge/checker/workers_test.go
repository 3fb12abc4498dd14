package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// crew is a story in which sub and other read one mailbox as one group.
func crew() *story {
	s := newStory().mailboxes()
	for _, p := range []int32{sub, other} {
		s.tables.Processes[p].Filters = []history.Filter{{Filter: "$share/g1/work/1", QoS: 1}}
		s.tables.Processes[p].Cannot = []string{"granted_qos"}
	}
	return s.connect(pub, false).join(sub, other).acked(q1, 0, 3)
}

// meanwhile fetches as numbered does; before the answer something else happens.
func (s *story) meanwhile(p, st int32, something func(), more int64, seqs ...int64) *story {
	e := blank(history.KindFetch, p)
	e.Text = s.tables.Streams[st].Topic
	c := s.call(e)
	something()
	e.Text, e.ID = "", int64(len(seqs))
	s.ret(e, c, history.OK)
	for _, seq := range seqs {
		d := blank(history.KindDeliver, p)
		d.Stream, d.Seq, d.ID, d.QoS = st, seq, seq+more, 1
		s.add(d)
	}
	return s
}

func TestWorkers(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	const one, lost = "mq9-one-worker", "mq9-workers-no-loss"
	for _, test := range []struct {
		name  string
		claim string
		tell  func() *story
		want  verdict.Status
		count map[string]int64
		text  string
	}{
		{"each goes on behind what another acknowledged", one, func() *story {
			return crew().numbered(sub, q1, 0, 0, 1).confirm(sub, 1).numbered(other, q1, 0, 2, 3)
		}, pass, map[string]int64{"deliveries": 2, "several": 0}, ""},
		{"one gets what another acknowledged", one, func() *story {
			return crew().numbered(sub, q1, 0, 0, 1).confirm(sub, 1).numbered(other, q1, 0, 1, 2)
		}, fail, map[string]int64{"repeated": 1, "several": 1},
			"message 1 of pub-1 on work/1 (QoS 1) (id 1) reached sub-2 at 0.026 s; sub-1 of its group had received it and acknowledged id 1 at 0.023 s, before the fetch"},
		{"both fetched before either acknowledged", one, func() *story {
			s := crew()
			s.meanwhile(other, q1, func() { s.numbered(sub, q1, 0, 0, 1).confirm(sub, 1) }, 0, 0, 1)
			return s.confirm(other, 1).numbered(sub, q1, 0, 2)
		}, pass, map[string]int64{"deliveries": 1, "several": 2}, ""},
		{"one gets what another was given and did not acknowledge", one, func() *story {
			return crew().numbered(sub, q1, 0, 0, 1, 2).confirm(sub, 0).numbered(other, q1, 0, 1, 2)
		}, pass, map[string]int64{"several": 2}, ""},
		{"one gets what lies below another's acknowledgement, which was given to nobody before", one, func() *story {
			return crew().numbered(sub, q1, 0, 0, 2).confirm(sub, 2).numbered(other, q1, 0, 1, 3)
		}, pass, nil, ""},
		{"one gets its own again", one, func() *story { // mq9-ack-kept is about that
			return crew().numbered(sub, q1, 0, 0).confirm(sub, 0).numbered(other, q1, 0, 1).confirm(other, 1).numbered(sub, q1, 0, 0)
		}, pass, nil, ""},
		{"an acknowledgement of less, later, moves nothing back", one, func() *story {
			s := crew()
			s.meanwhile(other, q1, func() { s.numbered(sub, q1, 0, 0, 1, 2).confirm(sub, 2) }, 0, 0)
			return s.confirm(other, 0).numbered(other, q1, 0, 1)
		}, fail, map[string]int64{"repeated": 1}, "message 1"},
		{"both fetched before either acknowledged an id that was given again", one, func() *story {
			s := crew().numbered(sub, q1, 5, 0).confirm(sub, 5)
			s.meanwhile(other, q1, func() { s.numbered(sub, q1, 2, 1).confirm(sub, 3) }, 2, 1)
			return s.confirm(other, 3).numbered(sub, q1, 2, 2)
		}, pass, map[string]int64{"deliveries": 2}, ""},
		{"one gets what another acknowledged, also where that acknowledged more later", one, func() *story {
			s := crew().numbered(sub, q1, 0, 0).confirm(sub, 0)
			s.meanwhile(other, q1, func() { s.numbered(sub, q1, 0, 1, 2).confirm(sub, 2) }, 0, 0, 1)
			return s
		}, fail, map[string]int64{"repeated": 1}, "message 0"},
		{"readers of groups of their own", one, func() *story {
			s := crew()
			s.tables.Processes[other].Filters[0].Filter = "work/1"
			return s.numbered(sub, q1, 0, 0, 1).confirm(sub, 1).numbered(other, q1, 0, 0, 1)
		}, unknown, nil, "no worker was delivered anything after"},
		{"nobody acknowledged", one, func() *story {
			return crew().numbered(sub, q1, 0, 0).numbered(other, q1, 0, 0)
		}, unknown, nil, "no worker was delivered anything after"},

		{"each has a part", lost, func() *story {
			return crew().numbered(sub, q1, 0, 0, 1).numbered(other, q1, 0, 2, 3).marker(q1, 4, history.OK).deliver(other, q1, 4, history.FlagEnd)
		}, pass, map[string]int64{"due": 5, "lost": 0}, ""},
		{"no worker has one", lost, func() *story {
			return crew().numbered(sub, q1, 0, 0, 1).numbered(other, q1, 0, 3).marker(q1, 4, history.OK).deliver(other, q1, 4, history.FlagEnd)
		}, fail, map[string]int64{"due": 5, "lost": 1}, "message 2 of pub-1 on work/1 (QoS 1) reached no member of $share/g1/work/1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.tell().finish()
			r := judgeStory(t, s, test.claim).Results[0]
			if few, err := Judge(s.source(7), s.context(), []string{test.claim}); err != nil || few.Results[0].Summary != r.Summary {
				t.Errorf("in batches of 7: %+v %v, in one: %+v", few.Results[0], err, r)
			}
			if r.Status != test.want || r.Status == pass && !r.Canary.Red {
				t.Fatalf("%s: %s %q %+v, want %s", r.Status, r.Summary, r.Reasons, r.Canary, test.want)
			}
			for name, n := range test.count {
				if r.Counts[name] != n {
					t.Errorf("%s is %d, want %d of %v", name, r.Counts[name], n, r.Counts)
				}
			}
			said := strings.Join(r.Reasons, "\n")
			if len(r.Anomalies) > 0 {
				said = r.Anomalies[0].Text
			}
			if !strings.Contains(said, test.text) {
				t.Errorf("%q, want %q", said, test.text)
			}
		})
	}
}

// A mailbox that a worker makes is made, as one that its only reader makes.
func TestMailboxMadeByAWorker(t *testing.T) {
	s := newStory().mailboxes()
	s.tables.Processes[sub].Filters = []history.Filter{{Filter: "work/1", QoS: 1}}
	s.tables.Processes[other].Filters = []history.Filter{{Filter: "$share/g1/work/1", QoS: 1}}
	s.tables.Streams[q1].MailboxTTLS = 10
	s.connect(pub, false).join(sub).acked(q1, 0, 0).look(sub, q1, history.OK, msg{q1, 0})
	s.wait(20*time.Second).refuse(q1, 1).join(other).acked(q1, 2, 2).look(sub, q1, history.OK, msg{q1, 2}).finish()
	if r := judgeStory(t, s, "mq9-mailbox-ttl").Results[0]; r.Status != verdict.Pass {
		t.Errorf("%s: %s %q", r.Status, r.Summary, r.Reasons)
	}
}
