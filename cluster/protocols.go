package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Protocols returns the protocols that a flavor's nodes speak: mqtt3, mqtt5, mq9.
// Nothing is known about a broker that somebody else runs, so all are tried there.
func Protocols(flavor string) []string {
	switch flavor {
	case "", "reference": // the default
		return []string{"mqtt3", "mq9"} // nats-server: server/README-MQTT.md
	case "mosquitto":
		return []string{"mqtt3", "mqtt5"}
	}
	return []string{"mqtt3", "mqtt5", "mq9"}
}

// Shares returns nil if a flavor has shared subscriptions. Nothing is known about a
// broker that somebody else runs, so they are tried there.
func Shares(flavor string) error {
	if flavor != "" && flavor != "reference" {
		return nil
	}
	return errors.New("the embedded broker (flavor reference) has no shared subscriptions: nats-server takes $share for a topic like any other (nats-io/nats-server issue 2386); choose flavor mosquitto or robustmq")
}

// Speaks is nil where a flavor's nodes speak a protocol.
func Speaks(flavor, protocol string) error {
	known := Protocols(flavor)
	if slices.Contains(known, protocol) {
		return nil
	}
	name := flavor
	if flavor == "reference" {
		name = "the embedded broker (flavor reference)"
	}
	return fmt.Errorf("%s does not speak %s, only %s; choose another flavor or protocol", name, protocol, strings.Join(known, ", "))
}

// SDK returns the client library that can speak a protocol to a flavor's nodes, or ""
// if the library named by scenarios can. RobustMQ sends a NATS client PING before the
// PONG that nats.go waits for. It also knows replies by subscription 0 alone, the one
// used by async-nats (src/nats-broker/src/mq9, v0.4.11).
func SDK(flavor, protocol string) string {
	if flavor == "robustmq" && protocol == "mq9" {
		return "rust/async-nats"
	}
	return ""
}
