package checker

import (
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// An Entry is one claim with the checker that judges it.
type Entry struct {
	Claim         verdict.Claim
	Category      Category
	Checker       string   // name and version: loss@1
	Protocols     []string // that make the claim
	New           func(Context) Checker
	NeedsComplete bool // missing rows could explain what it finds, or hide it
	Timed         bool // a host that stands still could explain what it finds
	Bounded       bool // by what only a scenario's run has: a budget, a harness that lists mailboxes
	canary        func(Context) *mutation
}

// A Category is the kind of a promise.
type Category string

// Categories.
const (
	Safety      Category = "safety"      // nothing wrong happens
	Liveness    Category = "liveness"    // something right happens in time
	Durability  Category = "durability"  // what was acknowledged stays
	Idempotency Category = "idempotency" // what happens again has no effect again
	Ordering    Category = "ordering"    // before stays before
	Isolation   Category = "isolation"   // nobody gets what is not for them
	Operational Category = "operational" // what runs keeps running
	Fairness    Category = "fairness"    // one does not live at the cost of others
)

var (
	mqtt  = []string{"mqtt3", "mqtt5"}
	mq9   = []string{"mq9"}
	every = []string{"mqtt3", "mqtt5", "mq9"}
)

// All are the claims that can be judged.
var All = [...]Entry{
	{
		Claim: verdict.Claim{Name: "qos1-no-loss", Gated: true,
			Text:   "QoS 1 ensures that the message arrives at the receiver at least once; a message whose PUBACK was sent is the broker's to deliver to every session that subscribed before.",
			Source: "MQTT 3.1.1 section 4.3.2 [MQTT-4.3.2-2]; sessions: section 4.1 [MQTT-4.1.0-1]"},
		Category: Durability, Checker: "loss@2", Protocols: mqtt, New: qos1Loss, NeedsComplete: true, canary: lose(1),
	},
	{
		Claim: verdict.Claim{Name: "qos2-no-loss", Gated: true,
			Text:   "QoS 2 is for use when neither loss nor duplication of messages are acceptable; a message whose PUBCOMP was sent is the broker's to deliver to every session that subscribed before.",
			Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-2]; sessions: section 4.1 [MQTT-4.1.0-1]"},
		Category: Durability, Checker: "loss@2", Protocols: mqtt, New: qos2Loss, NeedsComplete: true, canary: lose(2),
	},
	{
		Claim: verdict.Claim{Name: "qos2-exactly-once", Gated: true,
			Text:   "QoS 2, exactly once delivery: neither loss nor duplication of messages are acceptable.",
			Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-1], [MQTT-4.3.3-2]"},
		Category: Idempotency, Checker: "once@3", Protocols: mqtt, New: exactlyOnce, canary: repeat(2, dedupes),
	},
	{
		Claim: verdict.Claim{Name: "qos0-at-most-once", Gated: true,
			Text:   "QoS 0, at most once delivery: the message arrives at the receiver either once or not at all.",
			Source: "MQTT 3.1.1 section 4.3.1"},
		Category: Idempotency, Checker: "once@3", Protocols: mqtt, New: atMostOnce, canary: repeat(0, anyone),
	},
	{
		Claim: verdict.Claim{Name: "qos1-dup-flag",
			Text:   "The DUP flag MUST be set to 1 by the Client or Server when it attempts to re-deliver a PUBLISH Packet.",
			Source: "MQTT 3.1.1 section 3.3.1.1 [MQTT-3.3.1-1]"},
		Category: Safety, Checker: "dup@1", Protocols: mqtt, New: newDupFlag, canary: unflag,
	},
	{
		Claim: verdict.Claim{Name: "qos-granted",
			Text:   "The QoS of Payload Messages sent in response to a Subscription MUST be the minimum of the QoS of the originally published message and the maximum QoS granted by the Server.",
			Source: "MQTT 3.1.1 section 3.8.4 [MQTT-3.8.4-6]; MQTT 5.0 section 3.8.4 [MQTT-3.8.4-8]"},
		Category: Safety, Checker: "granted@1", Protocols: mqtt, New: newGranted, canary: raise,
	},
	{
		Claim: verdict.Claim{Name: "no-unexpected", Gated: true,
			Text:   "Only what was published is delivered, under its topic, only to those whose subscription matches that, and with RETAIN only what was published with it.",
			Source: "MQTT 3.1.1 sections 3.3.5, 4.7 and 3.3.1.3 [MQTT-3.3.1-9]"},
		Category: Isolation, Checker: "unexpected@2", Protocols: every, New: newUnexpected, NeedsComplete: true, canary: invent,
	},
	{
		Claim: verdict.Claim{Name: "no-corruption", Gated: true,
			Text:   "The payload is application data: its content is the application's, and arrives as it was sent.",
			Source: "MQTT 3.1.1 section 3.3.3"},
		Category: Safety, Checker: "corruption@1", Protocols: every, New: newCorruption, canary: corrupt,
	},
	{
		Claim: verdict.Claim{Name: "order-per-stream", Gated: true,
			Text:   "A Server MUST by default treat each Topic as an Ordered Topic: PUBLISH packets of a client, a topic and a QoS are sent to consumers in the order in which they were received.",
			Source: "MQTT 3.1.1 section 4.6 [MQTT-4.6.0-5], [MQTT-4.6.0-6]; MQTT 5.0 section 4.6 [MQTT-4.6.0-5]"},
		Category: Ordering, Checker: "order@3", Protocols: mqtt, New: newOrder, canary: swap,
	},
	{
		Claim: verdict.Claim{Name: "session-kept", Gated: true,
			Text:   "If the Server accepts a connection with CleanSession set to 0 and has stored Session state, it MUST set Session Present to 1; the session lasts as long as was asked for.",
			Source: "MQTT 3.1.1 sections 3.1.2.4 [MQTT-3.1.2-4] and 3.2.2.2 [MQTT-3.2.2-2]; MQTT 5.0 section 3.1.2.11.2"},
		Category: Durability, Checker: "session@1", Protocols: mqtt, New: newKept, canary: forget,
	},
	{
		Claim: verdict.Claim{Name: "session-expiry", Gated: true,
			Text:   "The Server MUST discard the Session State when the Network Connection is closed and the Session Expiry Interval has passed, within the time that the scenario bounds (expiry_s).",
			Source: "MQTT 5.0 sections 4.1.0 [MQTT-4.1.0-2], 3.1.2.11.2 and 3.2.2.3.2"},
		Category: Safety, Checker: "outlived@1", Protocols: []string{"mqtt5"}, New: newOutlived, Timed: true, canary: outlive,
	},
	{
		Claim: verdict.Claim{Name: "will-once", Gated: true,
			Text:   "The Will Message MUST be published when the Network Connection is closed, unless it has been deleted by the Server on receipt of a DISCONNECT Packet: at QoS 1 it reaches every session that subscribed before, and it is published once. A server that fails in that moment may do it later, or again.",
			Source: "MQTT 3.1.1 sections 3.1.2.5 [MQTT-3.1.2-8], [MQTT-3.1.2-10] and 3.14.4 [MQTT-3.14.4-3]; MQTT 5.0 sections 3.1.2.5 [MQTT-3.1.2-8], [MQTT-3.1.2-10] and 3.14.4 [MQTT-3.14.4-3]"},
		Category: Safety, Checker: "willonce@1", Protocols: mqtt, New: newWillOnce, NeedsComplete: true, canary: exhume,
	},
	{
		Claim: verdict.Claim{Name: "shared-no-loss", Gated: true,
			Text:   "A message that was acknowledged at QoS 1 or 2 reaches a member of each shared subscription that matches it: where a member's connection ends before it acknowledged one, that is sent to it when it comes back, or to another member.",
			Source: "MQTT 5.0 section 4.8.2 [MQTT-4.8.2-5], sections 4.3.2 and 4.3.3; with MQTT 3.1.1 an extension of the broker's"},
		Category: Durability, Checker: "sharedloss@1", Protocols: mqtt, New: newSharedLoss, NeedsComplete: true, canary: loseShared,
	},
	{
		Claim: verdict.Claim{Name: "shared-one-member", Gated: true,
			Text:   "Each message that matches a shared subscription is sent to one of its members only.",
			Source: "MQTT 5.0 section 4.8.2; with MQTT 3.1.1 an extension of the broker's"},
		Category: Idempotency, Checker: "onemember@1", Protocols: mqtt, New: newOneMember, canary: giveAll,
	},
	{
		Claim: verdict.Claim{Name: "mq9-no-loss", Gated: true,
			Text:   "Messages persist until they are fetched or their time is over: one that was answered with its id reaches every group, and is never lost because its recipient is offline.",
			Source: "mq9 protocol.md, MSG.SEND and MSG.FETCH; website/docs/faq.md"},
		Category: Durability, Checker: "loss@2", Protocols: mq9, New: qos1Loss, NeedsComplete: true, canary: lose(1),
	},
	{
		Claim: verdict.Claim{Name: "mq9-fifo", Gated: true,
			Text:   "Within one priority messages are delivered in the order in which they were stored.",
			Source: "mq9 protocol.md, priorities"},
		Category: Ordering, Checker: "order@3", Protocols: mq9, New: newOrder, canary: swap,
	},
	{
		Claim: verdict.Claim{Name: "mq9-priority", Gated: true,
			Text:   "Across priorities, higher priority is processed first: critical before urgent before normal in what a fetch answers. The storage layer guarantees ordering, consumers do not need to sort themselves.",
			Source: "mq9 protocol.md, Core Concepts and Priority Description"},
		Category: Ordering, Checker: "priority@1", Protocols: mq9, New: newPriority, canary: invert,
	},
	{
		Claim: verdict.Claim{Name: "mq9-message-ttl", Gated: true,
			Text:   "A message expires at send_time + ttl, independent of the mailbox: until then FETCH returns it, and from then on, within the time that the scenario bounds (expiry_s), no more.",
			Source: "mq9 protocol.md, MSG.SEND, mq9-ttl; website/docs/faq.md"},
		Category: Safety, Checker: "expiry@1", Protocols: mq9, New: messagesExpire, NeedsComplete: true, Timed: true, canary: linger(ofMessages),
	},
	{
		Claim: verdict.Claim{Name: "mq9-mailbox-ttl", Gated: true,
			Text:   "A mailbox is destroyed when its time to live is over, and its messages with it, within the time that the scenario bounds (expiry_s): it takes and gives no more. Until then it is there.",
			Source: "mq9 protocol.md, Core Concepts and MAILBOX.CREATE; website/docs/faq.md, What happens when a mailbox expires?"},
		Category: Safety, Checker: "expiry@1", Protocols: mq9, New: mailboxesExpire, NeedsComplete: true, Timed: true, canary: linger(ofMailboxes),
	},
	{
		Claim: verdict.Claim{Name: ClaimMailboxList, Gated: true,
			Text:   "The list of mailboxes that a node gives has every mailbox that is registered, and none whose time to live is over, from when the scenario bounds (expiry_s) after it was made or was over.",
			Source: "RobustMQ docs/en/Api/MQ9.md, Mailbox List; mq9 protocol.md, Core Concepts"},
		Category: Safety, Checker: "mailboxlist@1", Protocols: mq9, New: newMailboxList, NeedsComplete: true, Timed: true, Bounded: true, canary: hide,
	},
	{
		Claim: verdict.Claim{Name: "progress",
			Text:   "While a fault is in place the cluster goes on acknowledging publishes, after a silence that the scenario bounds (progress_s).",
			Source: "the scenario's budget"},
		Category: Liveness, Checker: "progress@2", Protocols: every, New: newProgress, NeedsComplete: true, Timed: true, Bounded: true, canary: stall,
	},
	{
		Claim: verdict.Claim{Name: "recovery",
			Text:   "After the last fault is healed, every node takes a publish and delivers a message again within the time that the scenario bounds (recovery_s).",
			Source: "the scenario's budget"},
		Category: Liveness, Checker: "recovery@3", Protocols: every, New: newRecovery, NeedsComplete: true, Timed: true, Bounded: true, canary: mute,
	},
	{
		Claim: verdict.Claim{Name: "fair",
			Text:   "While a client stalls, is dead or floods, the others are served as before: of each group at each node the acknowledgements and deliveries take no longer, and are no fewer, than the scenario bounds against that group before (fair).",
			Source: "the scenario's budget"},
		Category: Fairness, Checker: "fair@2", Protocols: mqtt, New: newFair, NeedsComplete: true, Bounded: true, canary: dawdle,
	},
	{
		Claim: verdict.Claim{Name: "no-panic",
			Text:   "Whatever happens around it, a broker does not panic.",
			Source: "common expectation of a server"},
		Category: Operational, Checker: "panics@1", Protocols: every, New: newPanics, canary: crash,
	},
	{
		Claim: verdict.Claim{Name: "no-exit",
			Text:   "Unless it is made to, a broker does not end: whatever its clients and its network do, its process goes on.",
			Source: "common expectation of a server"},
		Category: Operational, Checker: "exits@1", Protocols: every, New: newExits, canary: quit,
	},
	{
		Claim: verdict.Claim{Name: "no-leak",
			Text:   "A connection that its client has closed is closed by the broker too, ten seconds after the last fault at the latest.",
			Source: "common expectation of a server"},
		Category: Operational, Checker: "leaks@1", Protocols: mqtt, New: newLeaks, Timed: true, canary: desert,
	},
	{
		Claim: verdict.Claim{Name: "steady-resources",
			Text:   "Under a load that stays the same no node takes more and more: memory, open descriptors, connections of clients and the time until it acknowledges grow no faster than the scenario bounds (growth).",
			Source: "the scenario's budget"},
		Category: Operational, Checker: "steady@2", Protocols: mqtt, New: newSteady, Bounded: true, canary: swell,
	},
	{
		Claim: verdict.Claim{Name: "retained-register", Gated: true,
			Text:   "A new subscription is sent the last retained message of its topic: the topic is a register.",
			Source: "MQTT 3.1.1 section 3.3.1.3 [MQTT-3.3.1-5], [MQTT-3.3.1-6]"},
		Category: Safety, Checker: "register@3", Protocols: mqtt, New: newRegister, NeedsComplete: true, canary: stale,
	},
	{
		Claim: verdict.Claim{Name: "broker-acks", Wire: true,
			Text:   "The receiver MUST respond with a PUBACK (QoS 1) or PUBREC (QoS 2) Packet containing the Packet Identifier from the incoming PUBLISH Packet.",
			Source: "MQTT 3.1.1 sections 4.3.2 [MQTT-4.3.2-2] and 4.3.3 [MQTT-4.3.3-2]"},
		Category: Safety, Checker: "answered@2", Protocols: mqtt, New: talks(answered), canary: misanswer,
	},
	{
		Claim: verdict.Claim{Name: "broker-qos2-flow", Wire: true,
			Text:   "The sender MUST NOT re-send the PUBLISH once it has sent the corresponding PUBREL packet.",
			Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-1]; MQTT 5.0 section 4.3.3 [MQTT-4.3.3-6]"},
		Category: Safety, Checker: "released@2", Protocols: mqtt, New: talks(releasedOnce(verdict.Broker)), canary: rekindle(verdict.Broker),
	},
	{
		Claim: verdict.Claim{Name: "broker-resend-dup", Wire: true,
			Text:   "The DUP flag MUST be set to 1 by the Client or Server when it attempts to re-deliver a PUBLISH Packet.",
			Source: "MQTT 3.1.1 section 3.3.1.1 [MQTT-3.3.1-1]"},
		Category: Safety, Checker: "flagged@2", Protocols: mqtt, New: talks(flagged(verdict.Broker)), canary: strip(verdict.Broker),
	},
	{
		Claim: verdict.Claim{Name: "sdk-honest", Of: verdict.SDK, Wire: true,
			Text:   "What a client library calls published was acknowledged by the broker before: the sender MUST treat the PUBLISH packet as unacknowledged until it has received the corresponding PUBACK (QoS 1) or PUBCOMP (QoS 2).",
			Source: "MQTT 3.1.1 sections 4.3.2 [MQTT-4.3.2-1] and 4.3.3 [MQTT-4.3.3-1]"},
		Category: Safety, Checker: "honest@2", Protocols: mqtt, New: newHonest, canary: boast,
	},
	{
		Claim: verdict.Claim{Name: "sdk-delivers", Of: verdict.SDK, Wire: true,
			Text:   "A client that sends PUBACK or PUBCOMP has accepted ownership of the application message: it reaches the application.",
			Source: "MQTT 3.1.1 sections 4.3.2 [MQTT-4.3.2-2] and 4.3.3 [MQTT-4.3.3-2]"},
		Category: Durability, Checker: "delivers@2", Protocols: mqtt, New: newDelivers, NeedsComplete: true, canary: withhold,
	},
	{
		Claim: verdict.Claim{Name: "sdk-once", Of: verdict.SDK, Wire: true,
			Text:   "Until it has received the corresponding PUBREL packet, the receiver MUST acknowledge any subsequent PUBLISH packet with the same Packet Identifier by sending a PUBREC. It MUST NOT cause duplicate messages to be delivered to any onward recipients in this case.",
			Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-2]"},
		Category: Idempotency, Checker: "once@3", Protocols: mqtt, New: takenOnce, canary: repeat(2, dedupes),
	},
	{
		Claim: verdict.Claim{Name: "sdk-resend-dup", Of: verdict.SDK, Wire: true,
			Text:   "The DUP flag MUST be set to 1 by the Client or Server when it attempts to re-deliver a PUBLISH Packet.",
			Source: "MQTT 3.1.1 section 3.3.1.1 [MQTT-3.3.1-1]"},
		Category: Safety, Checker: "flagged@2", Protocols: mqtt, New: talks(flagged(verdict.SDK)), canary: strip(verdict.SDK),
	},
	{
		Claim: verdict.Claim{Name: "sdk-qos2-flow", Of: verdict.SDK, Wire: true,
			Text:   "The sender MUST NOT re-send the PUBLISH once it has sent the corresponding PUBREL packet.",
			Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-1]; MQTT 5.0 section 4.3.3 [MQTT-4.3.3-6]"},
		Category: Safety, Checker: "released@2", Protocols: mqtt, New: talks(releasedOnce(verdict.SDK)), canary: rekindle(verdict.SDK),
	},
	{
		Claim: verdict.Claim{Name: "sdk-ack-order", Of: verdict.SDK, Wire: true,
			Text:   "A Client MUST send PUBACK packets in the order in which the corresponding PUBLISH packets were received (QoS 1 messages), and PUBREC packets likewise (QoS 2 messages).",
			Source: "MQTT 3.1.1 section 4.6 [MQTT-4.6.0-2], [MQTT-4.6.0-3]"},
		Category: Ordering, Checker: "inturn@2", Protocols: mqtt, New: talks(inTurn), canary: disorder,
	},
	{
		Claim: verdict.Claim{Name: "sdk-resubscribes", Of: verdict.SDK, Wire: true,
			Text:   "A client that is to be subscribed subscribes when the broker has no session of its: the client's and the server's session state must be discarded together.",
			Source: "MQTT 3.1.1 section 3.2.2.2, 4.1; the driver contract, Subscribing"},
		Category: Liveness, Checker: "resubscribes@2", Protocols: mqtt, New: newResubscribes, Timed: true, canary: unsubscribe,
	},
	{
		Claim: verdict.Claim{Name: "sdk-lives", Of: verdict.SDK, Wire: true,
			Text:   "Whatever a broker does, a client library does not end its process.",
			Source: "common expectation of a library"},
		Category: Operational, Checker: "lives@2", Protocols: mqtt, New: newLives, canary: kill,
	},
}

// talks makes the checker of a rule.
func talks(r rule) func(Context) Checker {
	return func(ctx Context) Checker { return newTalk(ctx, r) }
}

func dedupes(p history.Process) bool { return p.Dedupes }
func anyone(history.Process) bool    { return true }

// Find answers the entry of a claim.
func Find(claim string) (Entry, error) {
	var names []string
	for _, e := range All {
		if e.Claim.Name == claim {
			return e, nil
		}
		names = append(names, e.Claim.Name)
	}
	return Entry{}, fmt.Errorf("no claim %q; the claims are %s", claim, strings.Join(names, ", "))
}
