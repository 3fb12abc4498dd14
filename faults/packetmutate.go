package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// PacketMutate makes chosen packets ones that the specification has their
// receiver refuse by closing the connection. The answer to a falsified PUBLISH
// is withheld, and when it is healed the connections are closed: a broker that
// lets one pass cannot make a sender believe that it was the real one.
type PacketMutate struct{ packetFault }

// Name is packet_mutate.
func (PacketMutate) Name() string { return "packet_mutate" }

// Plan plans a rule in the tap.
func (f PacketMutate) Plan(_ context.Context, target Target) (*Injection, error) {
	return f.plan(target)
}

func packetMutate() Kind {
	return packetKind("packet_mutate",
		"mutate: chosen packets arrive as ones that their receiver must refuse by closing the connection; no payload is touched",
		map[string]any{"what": "qos", "direction": "to_broker", "nth": 50.0},
		packetParams(Param{
			Name: "what", Default: string(tap.QoS3), OneOf: tap.Changes(),
			Doc: "what is wrong with them: both QoS bits set, a packet id of 0, a wildcard in the topic, type 0, the reserved flags inverted, or a remaining length of five bytes",
		}),
		func(p Params) (Fault, error) {
			f, err := newPacketFault("packet_mutate", tap.Mutate, tap.Altered, p, func(r *tap.Rule) { r.Change = tap.Change(p.text("what")) })
			return PacketMutate{f}, err
		}).drawn(Draw{Roles: publishersAlone, Params: func(d Dice, _ Setting, p map[string]any) {
		p["nth"], p["what"] = whole(d, 20, 60), oneOf(d, "qos", "topic", "packet_type", "remaining_length")
	}})
}
