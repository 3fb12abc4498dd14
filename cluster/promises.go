package cluster

import "github.com/robustmq/rmq-mcp/history"

// A claim that is broken without having been promised is still found; the report
// then says that nobody promised it.

// referencePromises are those of NATS with JetStream replicated: messages of
// QoS 1 and 2 and sessions outlive a node. That redelivery keeps the order it
// does not promise (server/README-MQTT.md, known issues).
func referencePromises() []string {
	return []string{
		history.PromiseProtocol, history.PromiseDurability, history.PromiseSessions, history.PromiseRetained,
		history.PromiseProgress, history.PromiseRecovery, history.PromiseMailboxes,
	}
}

// externalPromises are those that any broker makes by speaking the protocol.
func externalPromises() []string { return []string{history.PromiseProtocol} }

// mosquittoPromises leave out all that a crash takes: persistence is a
// snapshot, every half hour and at an orderly end (mosquitto.conf(5)). Shared
// subscriptions it has for every version of MQTT.
func mosquittoPromises() []string {
	return []string{history.PromiseProtocol, history.PromiseRecovery, history.PromiseOrder, history.PromiseExpiry, history.PromiseSharing}
}

// robustmqPromises are those of its documentation: MQTT in full, QoS 1 at
// least once, QoS 2 exactly once, sessions and offline messages restored after
// a restart, leader failover without loss, order in a partition, shared
// subscriptions one of whose members has a message, and whose queues go to another
// when a session ends (docs/en/RobustMQ-MQTT, docs/en/Architect); of mq9 that messages persist and
// are delivered in order of priorities and within one, and that messages and
// mailboxes expire (mq9: protocol.md).
func robustmqPromises() []string {
	return []string{
		history.PromiseProtocol, history.PromiseDurability, history.PromiseSessions, history.PromiseRetained,
		history.PromiseProgress, history.PromiseRecovery, history.PromiseMailboxes,
		history.PromiseOrder, history.PromiseExpiry, history.PromiseSharing, history.PromiseHandover, history.PromiseDup,
	}
}
