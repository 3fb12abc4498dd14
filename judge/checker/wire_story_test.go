package checker

import "github.com/robustmq/rmq-mcp/history"

// A wireStory is one client's connections, as told.
type wireStory struct {
	conns int32
	ids   [2]int64           // last packet id, of the client and of the broker
	sent  map[[2]int64]int64 // packet ids of what the broker sent, by stream and number
}

// wired is a story with packets.
func wired() *story {
	s := newStory()
	s.run.Wire, s.run.WireClaims = true, WireClaims("")
	return s
}

func (s *story) wire(p int32) *wireStory {
	if s.wires == nil {
		s.wires = map[int32]*wireStory{}
	}
	if s.wires[p] == nil {
		s.wires[p] = &wireStory{sent: map[[2]int64]int64{}}
	}
	return s.wires[p]
}

// packet is one that a client sent; change may say more of it.
func (s *story) packet(p int32, kind string, id int64, change ...func(*history.Event)) *story {
	if !s.run.Wire {
		return s
	}
	e := blank(history.KindPacket, p)
	e.Via, e.Text, e.Conn = history.ViaTap, kind, max(s.wire(p).conns-1, 0)
	if id > 0 {
		e.ID = id
	}
	for _, f := range change {
		f(&e)
	}
	s.add(e)
	return s
}

// toClient is one that a client was sent.
func (s *story) toClient(p int32, kind string, id int64, change ...func(*history.Event)) *story {
	return s.packet(p, kind, id, append(change, func(e *history.Event) { e.Flags |= history.FlagToClient })...)
}

func (s *story) wireConnect(p int32, present bool) {
	s.wire(p).conns++
	s.packet(p, "connect", 0, func(e *history.Event) {
		if s.tables.Processes[p].Clean {
			e.Reason = 1
		}
	})
	s.toClient(p, "connack", 0, flagged2(present, history.FlagSessionPresent), s.expires(p))
}

// expires says how long a process's session is to last.
func (s *story) expires(p int32) func(*history.Event) {
	return func(e *history.Event) { e.Value = float64(s.tables.Processes[p].ExpiryS) + 1 }
}

func flagged2(yes bool, f history.Flags) func(*history.Event) {
	return func(e *history.Event) {
		if yes {
			e.Flags |= f
		}
	}
}

// of names the message that a packet is about.
func (s *story) of(st int32, seq int64) func(*history.Event) {
	return func(e *history.Event) {
		e.Stream, e.Seq = st, seq
		if e.Text == "publish" && st >= 0 {
			e.QoS = s.tables.Streams[st].QoS
		}
	}
}

// wirePublish is a message on its way to the broker, and its acknowledgement.
func (s *story) wirePublish(st int32, seq int64, acked bool) {
	p, of := s.tables.Streams[st].Producer, s.of(st, seq)
	if s.tables.Streams[st].QoS == 0 {
		s.packet(p, "publish", 0, of)
		return
	}
	s.wire(p).ids[0]++
	id := s.wire(p).ids[0]
	s.packet(p, "publish", id, of)
	switch {
	case !acked:
	case s.tables.Streams[st].QoS == 1:
		s.toClient(p, "puback", id, of)
	default:
		s.toClient(p, "pubrec", id, of).packet(p, "pubrel", id, of).toClient(p, "pubcomp", id, of)
	}
}

// wireSend is a message on its way to a subscriber: again with its packet id
// where it comes with DUP.
func (s *story) wireSend(p, st int32, seq int64, flags history.Flags) int64 {
	if st < 0 || s.tables.Streams[st].QoS == 0 {
		s.toClient(p, "publish", 0, s.of(st, seq), flagged2(true, flags))
		return 0
	}
	w := s.wire(p)
	id := w.sent[[2]int64{int64(st), seq}]
	if id == 0 || !flags.Has(history.FlagDup) {
		w.ids[1]++
		id = w.ids[1]
	}
	w.sent[[2]int64{int64(st), seq}] = id
	s.toClient(p, "publish", id, s.of(st, seq), flagged2(true, flags))
	return id
}

// wireTake is the client's answer.
func (s *story) wireTake(p, st int32, seq, id int64) {
	switch of := s.of(st, seq); {
	case id == 0:
	case s.tables.Streams[st].QoS == 1:
		s.packet(p, "puback", id, of)
	default:
		s.packet(p, "pubrec", id, of).toClient(p, "pubrel", id, of).packet(p, "pubcomp", id, of)
	}
}

// unheard is a delivery that the wire has nothing of.
func (s *story) unheard(p, st int32, seq int64, f history.Flags) *story {
	e := blank(history.KindDeliver, p)
	e.Stream, e.Seq, e.Flags = st, seq, f
	if st >= 0 {
		e.QoS = s.tables.Streams[st].QoS
	}
	s.add(e)
	return s
}
