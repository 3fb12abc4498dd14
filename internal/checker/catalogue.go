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
	Checker       string   // name and version: loss@1
	Protocols     []string // that make the claim
	New           func(Context) Checker
	NeedsComplete bool // missing rows could explain what it finds, or hide it
	Timed         bool // a host that stands still could explain what it finds
	canary        func(Context) *mutation
}

var mqtt = []string{"mqtt3", "mqtt5"}

// All are the claims that can be judged.
var All = [...]Entry{
	{
		Claim: verdict.Claim{Name: "qos1-no-loss", Gated: true,
			Text:   "QoS 1 ensures that the message arrives at the receiver at least once; a message whose PUBACK was sent is the broker's to deliver to every session that subscribed before.",
			Source: "MQTT 3.1.1 section 4.3.2 [MQTT-4.3.2-2]; sessions: section 4.1 [MQTT-4.1.0-1]"},
		Checker: "loss@2", Protocols: mqtt, New: qos1Loss, NeedsComplete: true, canary: lose(1),
	},
	{
		Claim: verdict.Claim{Name: "qos2-no-loss", Gated: true,
			Text:   "QoS 2 is for use when neither loss nor duplication of messages are acceptable; a message whose PUBCOMP was sent is the broker's to deliver to every session that subscribed before.",
			Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-2]; sessions: section 4.1 [MQTT-4.1.0-1]"},
		Checker: "loss@2", Protocols: mqtt, New: qos2Loss, NeedsComplete: true, canary: lose(2),
	},
	{
		Claim: verdict.Claim{Name: "qos2-exactly-once", Gated: true,
			Text:   "QoS 2, exactly once delivery: neither loss nor duplication of messages are acceptable.",
			Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-1], [MQTT-4.3.3-2]"},
		Checker: "once@2", Protocols: mqtt, New: exactlyOnce, canary: repeat(2, dedupes),
	},
	{
		Claim: verdict.Claim{Name: "qos0-at-most-once", Gated: true,
			Text:   "QoS 0, at most once delivery: the message arrives at the receiver either once or not at all.",
			Source: "MQTT 3.1.1 section 4.3.1"},
		Checker: "once@2", Protocols: mqtt, New: atMostOnce, canary: repeat(0, anyone),
	},
	{
		Claim: verdict.Claim{Name: "qos1-dup-flag",
			Text:   "The DUP flag MUST be set to 1 by the Client or Server when it attempts to re-deliver a PUBLISH Packet.",
			Source: "MQTT 3.1.1 section 3.3.1.1 [MQTT-3.3.1-1]"},
		Checker: "dup@1", Protocols: mqtt, New: newDupFlag, canary: unflag,
	},
	{
		Claim: verdict.Claim{Name: "qos-granted",
			Text:   "The QoS of Payload Messages sent in response to a Subscription MUST be the minimum of the QoS of the originally published message and the maximum QoS granted by the Server.",
			Source: "MQTT 3.1.1 section 3.8.4 [MQTT-3.8.4-6]; MQTT 5.0 section 3.8.4 [MQTT-3.8.4-8]"},
		Checker: "granted@1", Protocols: mqtt, New: newGranted, canary: raise,
	},
	{
		Claim: verdict.Claim{Name: "no-unexpected", Gated: true,
			Text:   "Only what was published is delivered, and only to those whose subscription matches its topic.",
			Source: "MQTT 3.1.1 section 3.3.5 and 4.7"},
		Checker: "unexpected@1", Protocols: mqtt, New: newUnexpected, NeedsComplete: true, canary: invent,
	},
	{
		Claim: verdict.Claim{Name: "no-corruption", Gated: true,
			Text:   "The payload is application data: its content is the application's, and arrives as it was sent.",
			Source: "MQTT 3.1.1 section 3.3.3"},
		Checker: "corruption@1", Protocols: mqtt, New: newCorruption, canary: corrupt,
	},
	{
		Claim: verdict.Claim{Name: "order-per-stream", Gated: true,
			Text:   "A Server MUST by default treat each Topic as an Ordered Topic: PUBLISH packets of a client, a topic and a QoS are sent to consumers in the order in which they were received.",
			Source: "MQTT 3.1.1 section 4.6 [MQTT-4.6.0-5], [MQTT-4.6.0-6]; MQTT 5.0 section 4.6 [MQTT-4.6.0-5]"},
		Checker: "order@2", Protocols: mqtt, New: newOrder, canary: swap,
	},
	{
		Claim: verdict.Claim{Name: "session-kept", Gated: true,
			Text:   "If the Server accepts a connection with CleanSession set to 0 and has stored Session state, it MUST set Session Present to 1; the session lasts as long as was asked for.",
			Source: "MQTT 3.1.1 sections 3.1.2.4 [MQTT-3.1.2-4] and 3.2.2.2 [MQTT-3.2.2-2]; MQTT 5.0 section 3.1.2.11.2"},
		Checker: "session@1", Protocols: mqtt, New: newKept, canary: forget,
	},
	{
		Claim: verdict.Claim{Name: "progress",
			Text:   "While a fault is in place the cluster goes on acknowledging publishes, after a silence that the scenario bounds (progress_s).",
			Source: "the scenario's budget"},
		Checker: "progress@2", Protocols: mqtt, New: newProgress, NeedsComplete: true, Timed: true, canary: stall,
	},
	{
		Claim: verdict.Claim{Name: "recovery",
			Text:   "After the last fault is healed, every node takes a publish and delivers a message again within the time that the scenario bounds (recovery_s).",
			Source: "the scenario's budget"},
		Checker: "recovery@2", Protocols: mqtt, New: newRecovery, NeedsComplete: true, Timed: true, canary: mute,
	},
	{
		Claim: verdict.Claim{Name: "no-panic",
			Text:   "Whatever happens around it, a broker does not panic.",
			Source: "common expectation of a server"},
		Checker: "panics@1", Protocols: mqtt, New: newPanics, canary: crash,
	},
	{
		Claim: verdict.Claim{Name: "retained-register", Gated: true,
			Text:   "A new subscription is sent the last retained message of its topic: the topic is a register.",
			Source: "MQTT 3.1.1 section 3.3.1.3 [MQTT-3.3.1-5], [MQTT-3.3.1-6]"},
		Checker: "register@2", Protocols: mqtt, New: newRegister, NeedsComplete: true, canary: stale,
	},
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
