// Package history is what was recorded: the events of a run, the tables that name their
// numbers, the landings of its faults, and the frozen plan it ran by. The two halves of
// the program meet only here: the half that acts on a broker records a history, and the
// half that judges reads nothing else.
//
// A [Recorder] writes history.arrow and tables.jsonl while the run goes, a
// [Reader] goes through them in batches of columns, [Recover] closes what a
// crash left. FORMAT.md beside this file says what is in the files, and how
// to open them with other tools.
package history

import "time"

// None marks a number of an [Event] that does not apply.
const None = -1

// An Event is one row of the history. An action that takes time is two rows, a call and
// its return; an instant is one point. A call without a return has an unknown outcome.
// The crash of anything reads the same way.
type Event struct {
	Index   int64         // order of recording, dense from 0
	Call    int64         // on a return: the Index of its call; else None
	Time    time.Duration // since the start of the run, on the machine's monotonic clock
	Process int32         // the logical client, an index into Tables.Processes; None for the harness
	Conn    int32         // connection incarnation of the process, from 0
	Kind    Kind
	Edge    Edge
	Via     Source
	Outcome Outcome // on a return; OK on a disconnect that the client announced by DISCONNECT, where it had a will; Fail on a driver's end that others brought about
	Reason  uint8   // MQTT reason code, where one was seen
	QoS     uint8   // of the PUBLISH as sent or delivered
	Flags   Flags
	Node    int16   // the node talked to or acted on, an index into Tables.Nodes; None when unknown
	Stream  int32   // the stream of a message, an index into Tables.Streams; None otherwise
	Seq     int64   // the message's number in its stream, dense from 0; None otherwise
	ID      int64   // packet id, offset or msg_id, where one was seen; else None
	Value   float64 // of an observation; of a CONNECT on the wire its session expiry in seconds; of a CONNACK or DISCONNECT there one more than that, 0 where the tap did not look
	Text    string  // an error on a return; the name of a phase, a fault or an observed metric
}

// Kind is the kind of an event.
type Kind uint8

const (
	KindNone        Kind = iota
	KindConnect          // call/return: CONNECT to CONNACK. Flags has SessionPresent; Stream and Seq are its will's. Without a process it is the harness's own, and Text what was said
	KindDisconnect       // point: the connection ended, by either side. Text says why
	KindSubscribe        // call/return: SUBSCRIBE to SUBACK. Text is the filter
	KindUnsubscribe      // call/return
	KindPublish          // call/return: one message. The return is ok only where the broker's acknowledgement was seen
	KindDeliver          // point: one message reached the subscriber
	KindFetch            // call/return: a read of a register or of a mailbox, and without a process the harness's own (FetchMailboxes, FetchStored). Seq is what was read, None for nothing
	KindAck              // call/return or point: a consumer's acknowledgement
	KindPause            // point: a process stopped reading
	KindResume           // point: it reads again
	KindEnd              // point: a process finished in order; Value is the number of events its driver wrote
	KindDriver           // point: a driver started, broke the contract, exited. Text says which
	KindInject           // call/return: a fault is put in place. Text is the fault's id
	KindHeal             // call/return: a fault is taken out, read back. Text is the fault's id
	KindPhase            // point: a phase of the run begins. Text is its name
	KindObserve          // point: a measurement. Text is the metric's name
	KindPacket           // point, via tap: one MQTT control packet as the client's side of the wire had it. Text is its type
	KindTold             // point: the SDK told its application how a publish ended, whatever made it say so. Outcome says how
)

// Edge tells a call from its return and from a point.
type Edge uint8

const (
	Point Edge = iota
	Call
	Return
)

// Source is the observer of an event.
type Source uint8

const (
	ViaHarness Source = iota
	ViaDriver         // an SDK, through its driver
	ViaTap            // the wire
	ViaNative         // a client of our own
)

// Outcome of a call that returned.
type Outcome uint8

const (
	OutcomeNone Outcome = iota
	OK                  // took effect
	Fail                // did not take effect
	Info                // may have taken effect
)

// Flags of a message or a connection.
type Flags uint8

const (
	FlagDup Flags = 1 << iota
	FlagRetain
	FlagSessionPresent
	FlagEnd      // the stream's end marker
	FlagCorrupt  // the payload's checksum does not match
	FlagForeign  // the payload carries another run's id, or no header at all
	FlagToClient // of a packet: it went from the broker to the client
	FlagRenamed  // of a packet or a delivery: a message under another topic than its stream's. Text of a delivery is that topic
)

// Has reports whether all flags of g are set.
func (f Flags) Has(g Flags) bool { return f&g == g }
