package cluster

import (
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// A claim that is broken without having been promised is still found; the report
// then says that nobody promised it.

// referencePromises are those of NATS with JetStream replicated: messages of
// QoS 1 and 2 and sessions outlive a node. That redelivery keeps the order it
// does not promise (server/README-MQTT.md, known issues). Neither does it promise that
// retained messages are registers across nodes: each node learns of them from a consumer
// of its own, behind the acknowledgement (the same, Retained messages).
func referencePromises() []string {
	return []string{
		history.PromiseProtocol, history.PromiseDurability, history.PromiseSessions,
		history.PromiseProgress, history.PromiseRecovery, history.PromiseMailboxes,
	}
}

// externalPromises are those that any broker makes by speaking a protocol.
func externalPromises(protocol string) []string {
	if protocol == contract.MQ9 {
		return []string{history.PromiseProtocol, history.PromiseMailboxes}
	}
	return []string{history.PromiseProtocol}
}

// mosquittoPromises leave out all that a crash takes: persistence is a
// snapshot, every half hour and at an orderly end (mosquitto.conf(5)). Shared
// subscriptions it has for every version of MQTT.
func mosquittoPromises() []string {
	return []string{history.PromiseProtocol, history.PromiseRecovery, history.PromiseOrder, history.PromiseExpiry, history.PromiseSharing}
}

// robustmqPromises returns the promises of RobustMQ's documentation.
//
// For MQTT (docs/en/RobustMQ-MQTT, docs/en/Architect): the protocol in full, QoS 1 at
// least once, QoS 2 exactly once, sessions and offline messages restored after a
// restart, leader failover without loss, and order in a partition. A message of a
// shared subscription goes to one member, and a member's queue goes to another member
// when its session ends.
//
// For mq9 (protocol.md): messages persist, they are delivered in order of priorities
// and in order within one priority, and messages and mailboxes expire.
func robustmqPromises() []string {
	return []string{
		history.PromiseProtocol, history.PromiseDurability, history.PromiseSessions, history.PromiseRetained,
		history.PromiseProgress, history.PromiseRecovery, history.PromiseMailboxes,
		history.PromiseOrder, history.PromiseExpiry, history.PromiseSharing, history.PromiseHandover, history.PromiseDup,
	}
}
