package cluster

// What a vendor promises, by the names of the claims that are judged. A claim
// that is broken without having been promised is still found; the report then
// says that nobody promised it.

// everyBroker is what any MQTT 3.1.1 broker promises by calling itself one, as
// long as its process lives.
func everyBroker() []string {
	return []string{"qos0-at-most-once", "qos-granted", "no-unexpected", "no-corruption", "session-fresh", "will-once", "no-panic", "no-exit", "no-leak"}
}

// referencePromises are those of NATS with JetStream replicated: messages of
// QoS 1 and 2 and sessions outlive a node. That redelivery keeps the order it
// does not promise (server/README-MQTT.md, known issues).
func referencePromises() []string {
	return append(everyBroker(), "qos1-no-loss", "qos2-no-loss", "qos2-exactly-once", "session-kept",
		"retained-register", "progress", "recovery", "mq9-no-loss", "mq9-fifo",
		"mq9-priority", "mq9-message-ttl", "mq9-mailbox-ttl", "mq9-mailbox-list")
}

// mosquittoPromises leave out all that a crash takes: persistence is a
// snapshot, every half hour and at an orderly end (mosquitto.conf(5)). Shared
// subscriptions it has for every version of MQTT.
func mosquittoPromises() []string {
	return append(everyBroker(), "recovery", "order-per-stream", "session-expiry", "shared-one-member")
}

// robustmqPromises are those of its documentation: MQTT in full, QoS 1 at
// least once, QoS 2 exactly once, sessions and offline messages restored after
// a restart, leader failover without loss, order in a partition, shared
// subscriptions one of whose members has a message, and whose queues go to another
// when a session ends (docs/en/RobustMQ-MQTT, docs/en/Architect); of mq9 that messages persist and
// are delivered in order of priorities and within one, and that messages and
// mailboxes expire (mq9: protocol.md).
func robustmqPromises() []string {
	return append(everyBroker(), "qos1-no-loss", "qos2-no-loss", "qos2-exactly-once", "qos1-dup-flag",
		"order-per-stream", "session-kept", "session-expiry", "shared-no-loss", "shared-one-member", "retained-register", "progress", "recovery", "mq9-no-loss", "mq9-fifo",
		"mq9-priority", "mq9-message-ttl", "mq9-mailbox-ttl", "mq9-mailbox-list")
}
