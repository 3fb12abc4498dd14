package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A msg is a message of a story.
type msg struct {
	stream int32
	seq    int64
}

// look fetches from the mailbox that a stream's topic is; what the answer has
// is delivered.
func (s *story) look(p, st int32, o history.Outcome, answer ...msg) *story {
	e := blank(history.KindFetch, p)
	e.Text = s.tables.Streams[st].Topic
	c := s.call(e)
	e.Text = ""
	if len(answer) > 0 {
		e.ID = int64(len(answer))
	}
	s.ret(e, c, o)
	for _, m := range answer {
		s.deliver(p, m.stream, m.seq)
	}
	return s
}

// numbered fetches as look does; the id of each message is its number and some more.
func (s *story) numbered(p, st int32, more int64, seqs ...int64) *story {
	e := blank(history.KindFetch, p)
	e.Text = s.tables.Streams[st].Topic
	c := s.call(e)
	e.Text, e.ID = "", int64(len(seqs))
	s.ret(e, c, history.OK)
	for _, seq := range seqs {
		d := blank(history.KindDeliver, p)
		d.Stream, d.Seq, d.ID, d.QoS = st, seq, seq+more, 1
		s.add(d)
	}
	return s
}

// confirm acknowledges an id.
func (s *story) confirm(p int32, id int64) *story {
	e := blank(history.KindAck, p)
	e.ID = id
	s.add(e)
	return s
}

// making asks for the mailbox that a stream's topic is.
func (s *story) making(p, st int32, o history.Outcome) *story {
	e := blank(history.KindSubscribe, p)
	e.Text = s.tables.Streams[st].Topic
	c := s.call(e)
	e.Text = ""
	s.ret(e, c, o)
	return s
}

// refuse publishes a number to no mailbox.
func (s *story) refuse(st int32, seq int64) *story {
	s.publish(st, seq, history.Fail)
	s.events[len(s.events)-1].Text = "mailbox work/1 does not exist"
	return s
}

// listed is a look of the harness at a node's list of mailboxes.
func (s *story) listed(node int16, o history.Outcome, names ...string) *story {
	return s.listing(node, o, func() {}, names...)
}

// listing is a list that is answered after what happens meanwhile.
func (s *story) listing(node int16, o history.Outcome, meanwhile func(), names ...string) *story {
	e := blank(history.KindFetch, history.None)
	e.Node, e.Text = node, history.FetchMailboxes
	c := s.call(e)
	meanwhile()
	for _, name := range names {
		e.Text = name
		s.add(e)
	}
	e.Text = ""
	s.ret(e, c, o)
	return s
}

func TestMQ9Checkers(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	const ok, no, info = history.OK, history.Fail, history.Info
	const ttl = 10 * time.Second
	priorities := func(s *story) *story {
		s.tables.Streams[q1b] = history.Stream{Topic: "work/1", QoS: 1, Priority: "critical"}
		s.tables.Streams[q1].Priority = "normal"
		return s.connect(pub, false).connect(sub, false).making(sub, q1, ok).acked(q1, 0, 2).acked(q1b, 0, 2)
	}
	two := func(s *story) *story {
		s.tables.Processes[sub].Filters = []history.Filter{{Filter: "work/1", QoS: 1}, {Filter: "work/1b", QoS: 1}}
		return s.connect(pub, false).connect(sub, false).making(sub, q1, ok).making(sub, q1b, ok).acked(q1, 0, 0).acked(q1b, 0, 0)
	}
	brief := func(s *story) *story {
		s.tables.Streams[q1].TTLS = 10
		return s.connect(pub, false).connect(sub, false).making(sub, q1, ok)
	}
	mailbox := func(s *story) *story {
		s.tables.Streams[q1].MailboxTTLS = 10
		return s.connect(pub, false).connect(sub, false).making(sub, q1, ok)
	}
	both := func(s *story) *story {
		return mailbox(s).making(sub, q1b, ok).wait(2 * time.Second)
	}
	for _, test := range []struct {
		name  string
		claim string
		tell  func(s *story)
		want  verdict.Status
		text  string // in the first anomaly, or in a reason
	}{
		{"what was acknowledged stays so", "mq9-ack-kept", func(s *story) {
			priorities(s).numbered(sub, q1, 0, 0, 1).confirm(sub, 1).numbered(sub, q1, 0, 2)
		}, pass, ""},
		{"what was acknowledged comes again", "mq9-ack-kept", func(s *story) {
			priorities(s).numbered(sub, q1, 0, 0, 1).confirm(sub, 1).numbered(sub, q1, 0, 1, 2)
		}, fail, "message 1 of pub-1 on work/1 (QoS 1, normal) (id 1) reached sub-1 again"},
		{"what was acknowledged comes again, where clients have clocks of their own", "mq9-ack-kept", func(s *story) {
			s.run.ClocksS = 0.01
			priorities(s).numbered(sub, q1, 0, 0, 1).confirm(sub, 1).numbered(sub, q1, 0, 1, 2)
		}, fail, "message 1 of pub-1 on work/1 (QoS 1, normal) (id 1) reached sub-1 again"},
		{"what was not acknowledged comes again", "mq9-ack-kept", func(s *story) {
			priorities(s).numbered(sub, q1, 0, 0, 1).numbered(sub, q1, 0, 0, 1).confirm(sub, 1).numbered(sub, q1, 0, 2)
		}, pass, ""},
		{"what lies behind an acknowledgement comes again", "mq9-ack-kept", func(s *story) {
			priorities(s).numbered(sub, q1, 0, 0, 1, 2).confirm(sub, 0).numbered(sub, q1, 0, 1, 2)
		}, pass, ""},
		{"a message that was sent twice", "mq9-ack-kept", func(s *story) {
			priorities(s).numbered(sub, q1, 0, 0, 1).confirm(sub, 1).numbered(sub, q1, 7, 1, 2)
		}, pass, ""},
		{"an id that was given again, of a message that was not acknowledged", "mq9-ack-kept", func(s *story) {
			priorities(s).numbered(sub, q1, 5, 0).confirm(sub, 5).numbered(sub, q1, 2, 1).numbered(sub, q1, 2, 1)
		}, pass, ""},
		{"an id that was given again, of a message that was acknowledged", "mq9-ack-kept", func(s *story) {
			priorities(s).numbered(sub, q1, 5, 0).confirm(sub, 5).numbered(sub, q1, 2, 1).confirm(sub, 3).numbered(sub, q1, 2, 1)
		}, fail, "which had acknowledged id 3"},
		{"another priority's acknowledgement", "mq9-ack-kept", func(s *story) {
			priorities(s).numbered(sub, q1, 0, 0, 1).numbered(sub, q1b, 7, 0, 1).confirm(sub, 8).numbered(sub, q1, 0, 0, 1).confirm(sub, 1).numbered(sub, q1b, 7, 2)
		}, pass, ""},
		{"a first message whose number is not told", "mq9-ack-kept", func(s *story) { // its drivers leave out 0
			priorities(s).numbered(sub, q1, -1, 0, 1).confirm(sub, 0).numbered(sub, q1, -1, 2)
		}, pass, ""},
		{"nothing was acknowledged", "mq9-ack-kept", func(s *story) { priorities(s).numbered(sub, q1, 0, 0, 1) }, unknown, "no group that had acknowledged"},
		{"the higher first", "mq9-priority", func(s *story) {
			priorities(s).look(sub, q1, ok, msg{q1b, 0}, msg{q1b, 1}, msg{q1, 0}, msg{q1, 1}).look(sub, q1, ok, msg{q1b, 2}, msg{q1, 2})
		}, pass, ""},
		{"a higher one behind", "mq9-priority", func(s *story) {
			priorities(s).look(sub, q1, ok, msg{q1b, 0}, msg{q1, 0}, msg{q1b, 1})
		}, fail, "message 1 of pub-1 on work/1 (QoS 1, critical) reached sub-1"},
		{"a higher one in a later answer", "mq9-priority", func(s *story) {
			priorities(s).look(sub, q1, ok, msg{q1b, 0}, msg{q1, 0}).look(sub, q1, ok, msg{q1b, 1})
		}, pass, ""},
		{"answers of one priority each", "mq9-priority", func(s *story) {
			priorities(s).look(sub, q1, ok, msg{q1, 0}).look(sub, q1, ok, msg{q1b, 0})
		}, unknown, "no answer that was seen"},
		{"a driver that does not say when it fetches", "mq9-priority", func(s *story) {
			priorities(s).deliver(sub, q1, 0).deliver(sub, q1b, 0)
		}, unknown, "no answer that was seen"},
		{"in the answer of its mailbox", "no-unexpected", func(s *story) {
			two(s).look(sub, q1, ok, msg{q1, 0}).look(sub, q1b, ok, msg{q1b, 0})
		}, pass, ""},
		{"in the answer of another mailbox it has no place in the order", "mq9-fifo", func(s *story) {
			two(s).acked(q1b, 1, 2).numbered(sub, q1b, 1, 0).look(sub, q1, ok, msg{q1, 0}, msg{q1b, 2}).numbered(sub, q1b, 1, 1, 2)
		}, pass, ""},
		{"in the answer of another mailbox", "no-unexpected", func(s *story) {
			two(s).look(sub, q1, ok, msg{q1, 0}, msg{q1b, 0})
		}, fail, "from another mailbox"},

		{"in time, and then no more", "mq9-message-ttl", func(s *story) {
			brief(s).join(other).acked(q1, 0, 1).look(sub, q1, ok, msg{q1, 0}, msg{q1, 1}).wait(2*ttl).look(other, q1, ok)
		}, pass, ""},
		{"asked for in time, delivered slowly", "mq9-message-ttl", func(s *story) {
			brief(s).join(other).acked(q1, 0, 1).look(sub, q1, ok, msg{q1, 0}).wait(2*ttl).deliver(sub, q1, 1).look(other, q1, ok)
		}, pass, ""},
		{"fetched when it was over", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 1).wait(2*ttl).look(sub, q1, ok, msg{q1, 1})
		}, fail, "message 1 of pub-1 on work/1 (QoS 1), acknowledged at 0.010 s with 10 s to live, was fetched by sub-1"},
		{"within the second that a broker counts in", "mq9-message-ttl", func(s *story) {
			brief(s).join(other).acked(q1, 0, 0).wait(ttl+900*time.Millisecond).look(sub, q1, ok, msg{q1, 0}).wait(ttl).look(other, q1, ok)
		}, pass, ""},
		{"within the time that the scenario bounds", "mq9-message-ttl", func(s *story) {
			s.run.Budget.ExpiryS = 30
			brief(s).join(other).acked(q1, 0, 0).wait(2*ttl).look(sub, q1, ok, msg{q1, 0}).wait(9*ttl).look(other, q1, ok)
		}, pass, ""},
		{"the end marker has no end", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 0).marker(q1, 1, ok).wait(2 * ttl)
			s.look(sub, q1, ok, msg{q1, 1})
		}, pass, ""},
		{"one of unknown outcome may have been stored at any time", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 0).publish(q1, 1, info).wait(2*ttl).look(sub, q1, ok, msg{q1, 1})
		}, pass, ""},
		{"gone too early", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 1).look(sub, q1, ok, msg{q1, 0}).wait(2*ttl).look(sub, q1, ok)
		}, fail, "was not in the answer to sub-1"},
		{"not in the answer of a node that was away", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 1).fault(2*ttl).look(sub, q1, ok, msg{q1, 0}).wait(3*ttl).look(sub, q1, ok)
		}, pass, ""},
		{"not in an answer before a fault either", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 1).look(sub, q1, ok, msg{q1, 0}).wait(time.Second).fault(2*ttl).look(sub, q1, ok).wait(3*ttl).look(sub, q1, ok)
		}, fail, "was not in the answer to sub-1"},
		{"an answer that was full", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 60)
			var all []msg
			for seq := range int64(50) {
				all = append(all, msg{q1, seq})
			}
			s.look(sub, q1, ok, all...).wait(2*ttl).look(sub, q1, ok)
		}, pass, ""},
		{"an answer that was cut off", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 1).look(sub, q1, ok, msg{q1, 0})
			s.events[len(s.events)-2].ID = 2
			s.wait(2*ttl).look(sub, q1, ok)
		}, pass, ""},
		{"sent while the answer was on its way", "mq9-message-ttl", func(s *story) {
			brief(s)
			e := blank(history.KindFetch, sub)
			e.Text = "work/1"
			c := s.call(e)
			s.acked(q1, 0, 0)
			s.ret(e, c, ok)
			s.wait(2*ttl).look(sub, q1, ok)
		}, pass, ""},
		{"nobody looks when it is over", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 1).look(sub, q1, ok, msg{q1, 0}, msg{q1, 1})
		}, unknown, "no client asked"},
		{"a clock was changed", "mq9-message-ttl", func(s *story) {
			brief(s).acked(q1, 0, 1).wait(2*ttl).look(sub, q1, ok, msg{q1, 1}).fault(time.Second)
			s.landings[0].Type = "clock_jump"
		}, unknown, "a clock was changed"},
		{"a driver that gives no time to live", "mq9-message-ttl", func(s *story) {
			s.tables.Processes[pub].Cannot = []string{"fetch"}
			brief(s).acked(q1, 0, 1).wait(2*ttl).look(sub, q1, ok, msg{q1, 1})
		}, unknown, "no client asked"},
		{"what is over is not lost", "mq9-no-loss", func(s *story) {
			brief(s).acked(q1, 0, 1).wait(2*ttl).look(sub, q1, ok)
		}, unknown, "no acknowledged message was due"},

		{"there, and then no more", "mq9-mailbox-ttl", func(s *story) {
			mailbox(s).acked(q1, 0, 1).look(sub, q1, ok, msg{q1, 0}, msg{q1, 1}).wait(2*ttl).refuse(q1, 2).look(sub, q1, no)
		}, pass, ""},
		{"it takes when it is over", "mq9-mailbox-ttl", func(s *story) {
			mailbox(s).acked(q1, 0, 1).wait(2*ttl).acked(q1, 2, 2)
		}, fail, "message 2 of pub-1 on work/1 (QoS 1), acknowledged at 20.012 s with 10 s to live, was taken by a mailbox that had expired"},
		{"it gives when it is over", "mq9-mailbox-ttl", func(s *story) {
			mailbox(s).acked(q1, 0, 1).wait(2*ttl).look(sub, q1, ok, msg{q1, 0})
		}, fail, "was fetched by sub-1"},
		{"made anew", "mq9-mailbox-ttl", func(s *story) {
			mailbox(s).acked(q1, 0, 1).look(sub, q1, ok, msg{q1, 0}).wait(2*ttl).refuse(q1, 2).making(other, q1, ok).acked(q1, 3, 3).look(sub, q1, ok, msg{q1, 3})
		}, fail, "was not in the answer"},
		{"made anew, with nothing of the first", "mq9-mailbox-ttl", func(s *story) {
			mailbox(s).acked(q1, 0, 0).look(sub, q1, ok, msg{q1, 0}).wait(2*ttl).refuse(q1, 1).making(other, q1, ok).acked(q1, 2, 2).look(sub, q1, ok, msg{q1, 2})
		}, pass, ""},
		{"made anew, with what was in the first", "mq9-mailbox-ttl", func(s *story) {
			mailbox(s).acked(q1, 0, 0).wait(2*ttl).refuse(q1, 1).making(other, q1, ok).look(sub, q1, ok, msg{q1, 0})
		}, fail, "was fetched by sub-1"},
		{"perhaps made anew", "mq9-mailbox-ttl", func(s *story) {
			mailbox(s).acked(q1, 0, 0).look(sub, q1, ok, msg{q1, 0}).making(other, q1, info).wait(2*ttl).refuse(q1, 1).acked(q1, 2, 2)
		}, pass, ""},
		{"refused while it is there", "mq9-mailbox-ttl", func(s *story) {
			mailbox(s).acked(q1, 0, 0).wait(ttl/2).refuse(q1, 1)
		}, fail, "as if its mailbox had expired: it lives 10 s"},
		{"refused by a node that does not know of it yet", "mq9-mailbox-ttl", func(s *story) {
			mailbox(s).refuse(q1, 0).acked(q1, 1, 1).look(sub, q1, ok, msg{q1, 1}).wait(2*ttl).refuse(q1, 2)
		}, pass, ""},
		{"refused before it was made", "mq9-mailbox-ttl", func(s *story) {
			s.tables.Streams[q1].MailboxTTLS = 10
			s.connect(pub, false).connect(sub, false).refuse(q1, 0).making(sub, q1, ok).acked(q1, 1, 1).look(sub, q1, ok, msg{q1, 1}).wait(2*ttl).refuse(q1, 2)
		}, pass, ""},

		{"listed, and then no more", "mq9-mailbox-list", func(s *story) {
			both(s).listed(0, ok, "work/1", "work/1b").listed(1, ok, "work/1b", "work/1").wait(2*ttl).listed(1, ok, "work/1b")
		}, pass, ""},
		{"not listed by one node", "mq9-mailbox-list", func(s *story) {
			both(s).listed(0, ok, "work/1", "work/1b").listed(1, ok, "work/1b")
		}, fail, "mailbox work/1 was made at 0.006 s and is not listed by node-2"},
		{"not listed yet", "mq9-mailbox-list", func(s *story) {
			s.connect(sub, false).making(sub, q1b, ok).listed(0, ok).wait(time.Minute).listed(0, ok, "work/1b").listed(1, ok, "work/1b")
		}, pass, ""},
		{"never there", "mq9-mailbox-list", func(s *story) {
			both(s).making(sub, q2, no).listed(0, ok, "work/1", "work/1b").listed(1, ok, "work/1b", "work/1")
		}, pass, ""},
		{"listed when it is over", "mq9-mailbox-list", func(s *story) {
			both(s).wait(2*ttl).listed(0, ok, "work/1b", "work/1")
		}, fail, "mailbox work/1 expired at 10.006 s and is still listed by node-1"},
		{"listed again, made anew", "mq9-mailbox-list", func(s *story) {
			both(s).wait(2*ttl).making(other, q1, ok).listed(0, ok, "work/1b", "work/1").listed(1, ok, "work/1b", "work/1")
		}, pass, ""},
		{"listed twice", "mq9-mailbox-list", func(s *story) {
			both(s).listed(0, ok, "work/1", "work/1b", "work/1")
		}, fail, "mailbox work/1 is listed twice by node-1"},
		{"a list while the node says what it has stored", "mq9-mailbox-list", func(s *story) {
			both(s).listing(0, ok, func() { s.holds(q1, ok, 3) }, "work/1", "work/1b").listed(1, ok, "work/1", "work/1b")
		}, pass, ""},
		{"a list that failed", "mq9-mailbox-list", func(s *story) { both(s).listed(0, no) }, unknown, "no list was read"},
		{"a list during a fault", "mq9-mailbox-list", func(s *story) {
			both(s).fault(time.Second).listed(0, ok)
		}, unknown, "no list was read"},
		{"a time to live that may not have been said", "mq9-mailbox-list", func(s *story) {
			s.tables.Processes[sub].Cannot = []string{"fetch"}
			both(s).wait(2*ttl).listed(0, ok, "work/1b", "work/1").listed(1, ok, "work/1b")
		}, pass, ""},
		{"a node that lists nothing", "mq9-mailbox-list", func(s *story) {
			both(s).listed(0, ok, "work/1", "work/1b").listed(1, no)
		}, unknown, "no list of node-2"},
		{"a list while a fault is never healed", "mq9-mailbox-list", func(s *story) {
			both(s).fault(time.Second)
			s.landings[0].Times.HealedNS = 0
			s.wait(time.Minute).listed(0, ok)
		}, unknown, "no list was read"},
		{"listed by the clock of a node", "mq9-mailbox-list", func(s *story) {
			both(s).fault(time.Second).listed(0, ok, "work/1b").listed(1, ok, "work/1b").wait(2*ttl).listed(0, ok, "work/1b", "work/1")
			s.landings[0].Type = "clock_jump"
		}, unknown, "a clock was changed"},
		{"a mailbox that lasts, after a clock was changed", "mq9-mailbox-list", func(s *story) {
			both(s).fault(time.Second).wait(2*ttl).listed(0, ok, "work/1b").listed(1, ok)
			s.landings[0].Type = "clock_jump"
		}, fail, "mailbox work/1b was made at"},
		{"mailboxes that all last, after a clock was changed", "mq9-mailbox-list", func(s *story) {
			s.connect(sub, false).making(sub, q1b, ok).fault(time.Second).wait(time.Minute).listed(0, ok, "work/1b").listed(1, ok, "work/1b")
			s.landings[0].Type = "clock_jump"
		}, pass, ""},
		{"listed twice during a fault", "mq9-mailbox-list", func(s *story) {
			both(s).fault(time.Second).listed(0, ok, "work/1", "work/1b", "work/1")
		}, unknown, "no list was read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory().mailboxes()
			s.tables.Processes[sub].Filters[0].Filter, s.tables.Processes[other].Filters[0].Filter = "work/1", "work/1"
			for _, p := range []int32{sub, other} {
				s.tables.Processes[p].Cannot = []string{"granted_qos"}
			}
			test.tell(s)
			s.finish()
			r := judgeStory(t, s, test.claim).Results[0]
			if few, err := Judge(s.source(7), s.context(), []string{test.claim}); err != nil || few.Results[0].Summary != r.Summary {
				t.Errorf("in batches of 7: %+v %v, in one: %+v", few.Results[0], err, r)
			}
			if r.Status != test.want {
				t.Fatalf("%s: %s %q %+v, want %s", r.Status, r.Summary, r.Reasons, r.Canary, test.want)
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
