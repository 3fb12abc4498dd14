package history

import "strings"

// Words that one side of a run writes and another reads. Both sides use the constants:
// a word changed on one side only would make a claim hold for ever.

// Observations are texts of a [KindObserve] by which something is judged. Nodes
// have more metrics, by their brokers' own names.
const (
	ObservePanic       = "panic"        // a node's log shows one; Value is the line
	ObserveStarved     = "host-starved" // Value seconds in which the harness did not run
	ObserveDriverLines = "driver-lines" // Value lines that arrived from the driver of this process

	ObservePlanted = "planted" // Value is how often the defect showed that rmq-mcp planted before the nodes

	// A node's process ended: Value is its status, or -1 and Reason the signal; Outcome
	// is ok where we ended it. ObserveMemoryKill comes before an end that the kernel
	// caused for lack of memory.
	ObserveExit       = "process_exit"
	ObserveMemoryKill = "process_memory_kill"

	// A process of ours under a node's data directory ended, or stood still, without
	// being asked: Value is the seconds for which it may have been gone by then.
	ObserveDiskGone = "disk_layer_gone"

	// The witness ended or was stopped without being asked: a fault that waits for it
	// is healed late.
	ObserveWitnessGone = "witness_gone"

	// A driver's process was stopped for a time, by no fault of ours: Value is the seconds
	// for which it may have stood still by then, and the process is its first client.
	ObserveDriverStill = "driver_stood_still"

	// Observed of each node every second, from its process and its kernel.
	ObserveMemory      = "process_memory_bytes"         // resident
	ObserveAnonymous   = "process_anonymous_bytes"      // resident, and of no file; on Linux
	ObserveDescriptors = "process_fds"                  // open
	ObserveConnections = "process_connections"          // at its MQTT listener
	ObserveDeserted    = "process_deserted_connections" // of those, closed by their clients ten seconds ago or earlier, and not by the node
)

// Phases of an experiment, in order: texts of a [KindPhase]. A hand-driven one
// stays in PhaseReady.
const (
	PhaseStarting = "starting" // cluster comes up
	PhaseReady    = "ready"    // by hand: waits for calls
	PhaseLoad     = "load"     // clients connect, the load gate
	PhaseSteady   = "steady"
	PhaseFault    = "fault"
	PhaseRecovery = "recovery"
	PhaseDrain    = "drain"
	PhaseJudge    = "judge"
	PhaseDone     = "done"
)

// States of a node's or a driver's process. One that is gone says how it ended.
const (
	StateRunning = "running"
	StateFrozen  = "frozen"
	StateExited  = "exited: " // begins it: "exited: status 2"
	StateKilled  = StateExited + "signal 9 (killed)"
)

// The ends that a process can be set to, beside running and frozen: by SIGKILL and by
// SIGTERM.
const (
	EndKilled  = "killed"
	EndStopped = "stopped"
	// EndRestarted is an end by SIGTERM with a start at once.
	EndRestarted = "restarted"
)

// Packets are texts of a [KindPacket]: a control packet's type (MQTT 5.0, 2.1.2),
// or one of the last two.
const (
	PacketConnect     = "connect"
	PacketConnack     = "connack"
	PacketPublish     = "publish"
	PacketPuback      = "puback"
	PacketPubrec      = "pubrec"
	PacketPubrel      = "pubrel"
	PacketPubcomp     = "pubcomp"
	PacketSubscribe   = "subscribe"
	PacketSuback      = "suback"
	PacketUnsubscribe = "unsubscribe"
	PacketUnsuback    = "unsuback"
	PacketPingreq     = "pingreq"
	PacketPingresp    = "pingresp"
	PacketDisconnect  = "disconnect"
	PacketAuth        = "auth"

	PacketClosed = "closed" // none: the connection has ended
	PacketUnread = "unread" // none: what follows on the connection cannot be read
)

// LostSight begins the end of a driver on another machine, of which no more is known.
const LostSight = "lost sight of it: "

// EndedByOthers reports whether an end of a driver, as the text of a [KindDriver] has it, is
// one that only others bring about: a signal by which nothing ends itself, or [LostSight].
func EndedByOthers(how string) bool {
	for _, by := range []string{"signal: killed", "signal: terminated", "signal: interrupt", "signal: hangup", LostSight} {
		if strings.HasPrefix(how, by) {
			return true
		}
	}
	return false
}

// FetchMailboxes is the text of a [KindFetch] that the harness makes of a node's
// list of mailboxes. Between its call and its return is a point for each mailbox.
const FetchMailboxes = "list of mailboxes"

// FetchStored is the text of a [KindFetch] that the harness makes of how many messages
// a broker has stored of a topic, that of the call's stream. The id of its return is
// that number, or up to one more for each partition.
const FetchStored = "stored of a topic"

// The promises of a broker's vendor, on which claims rest.
const (
	PromiseProtocol   = "protocol"   // the behaviour of any broker that speaks it, as long as its process lives
	PromiseDurability = "durability" // acknowledged messages outlive a node, and come once where that was asked for
	PromiseSessions   = "sessions"   // outlive a node
	PromiseRetained   = "retained"   // messages are registers, also across nodes
	PromiseProgress   = "progress"   // while a node is down
	PromiseRecovery   = "recovery"   // when it is back
	PromiseOrder      = "order"      // of a topic, also of what is delivered again
	PromiseExpiry     = "expiry"     // of sessions
	PromiseSharing    = "sharing"    // a message goes to one member of a shared subscription
	PromiseHandover   = "handover"   // and to another one when that is gone
	PromiseDup        = "dup"        // a repeated delivery says so
	PromiseMailboxes  = "mailboxes"  // all of mq9
)

// Promises are all of them.
func Promises() []string {
	return []string{
		PromiseProtocol, PromiseDurability, PromiseSessions, PromiseRetained, PromiseProgress, PromiseRecovery,
		PromiseOrder, PromiseExpiry, PromiseSharing, PromiseHandover, PromiseDup, PromiseMailboxes,
	}
}

// The things that a cluster may lack ([ClusterInfo.Lacks]).
const (
	LacksLogs      = "logs"      // of its nodes, for us to read
	LacksResources = "resources" // of its nodes' processes, for us to see
	LacksFaults    = "faults"    // on its nodes, unless somebody allows them
	LacksProcesses = "processes" // of its nodes, for us to see how they end
	LacksPromises  = "promises"  // that are known
	LacksLimits    = "limits"    // that are known: of the messages that wait for a session, and of its time
)

// Groups of clients ([Process.Group]).
const (
	GroupPublisher   = "publisher"
	GroupOnline      = "online"      // connected throughout
	GroupOffline     = "offline"     // subscribed, then away until the drain
	GroupPaused      = "paused"      // connected, reads nothing until the drain
	GroupSlow        = "slow"        // reads slower than is published
	GroupReader      = "reader"      // reads registers, each time on a fresh session
	GroupShared      = "shared"      // members of shared subscriptions
	GroupOverlapping = "overlapping" // with several filters that match the same
	GroupFiltered    = "filtered"    // with filters of their own
	GroupDuplex      = "duplex"      // also publish, on the same connection
	GroupExpiring    = "expiring"    // away until their session has expired
	GroupVisiting    = "visiting"    // come and go
	GroupWill        = "will"        // leave a will
	GroupProbe       = "probe"       // of the harness, for one node each
)

// Kinds of things that the nodes of external brokers are named as.
const (
	AsProcess   = "pid"
	AsContainer = "container"
	AsPod       = "pod"
)
