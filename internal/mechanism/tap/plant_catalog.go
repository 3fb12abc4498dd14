package tap

// Plants are all of them, for MQTT 3.1.1 and 5. One that takes a number is told
// apart by the QoS of the messages that it is done to.
func Plants() []Plant {
	load := func(name, what string, do act) Plant { return Plant{Name: name, What: what, Shows: InLoad, do: do} }
	resume := func(name, what string, do act) Plant {
		return Plant{Name: name, What: what, Shows: InResume, Always: true, do: do}
	}
	retains := func(name, what string, do act) Plant { return Plant{Name: name, What: what, Shows: InRetains, do: do} }
	return []Plant{
		// Lost.
		load("ack-and-drop", "acknowledges a QoS 1 message and forgets it", acceptOnly(ToBroker, 1)),
		load("complete-and-drop", "completes the exchange of a QoS 2 message and forgets it", acceptOnly(ToBroker, 2)),
		load("drop-delivery", "does not deliver a QoS 1 message", acceptOnly(ToClient, 1)),
		load("drop-delivery-qos2", "does not deliver a QoS 2 message", acceptOnly(ToClient, 2)),
		load("drop-several", "does not deliver ten QoS 1 messages in a row", dropSeveral),
		{Name: "drop-last", What: "does not deliver the last QoS 1 message of a topic", Shows: InLoad, Always: true, do: dropLast},
		load("store-elsewhere", "stores a QoS 1 message under another topic", storeElsewhere),
		load("overwrite", "sends a QoS 1 message with the content of the one before", overwrite),

		// Duplicated.
		load("deliver-twice", "publishes a QoS 2 message to a subscriber twice", twice(ToClient, 2)),
		load("deliver-twice-qos0", "publishes a QoS 0 message to a subscriber twice", twice(ToClient, 0)),
		load("deliver-again", "publishes a QoS 2 message to a subscriber again, 40 messages later", deliverAgain(2)),
		load("deliver-again-qos0", "publishes a QoS 0 message to a subscriber again, 40 messages later", deliverAgain(0)),
		load("take-twice", "takes a QoS 2 message for two", twice(ToBroker, 2)),
		load("take-twice-qos0", "takes a QoS 0 message for two", twice(ToBroker, 0)),
		load("resend-released", "sends a QoS 2 message again after its PUBREL", resendReleased),
		load("resend-bare", "sends a QoS 1 message again without DUP", resendBare),

		// Out of order.
		load("reorder", "sends a QoS 1 message behind the next of its topic", reorder(ToClient, 1, 1)),
		load("reorder-qos0", "sends a QoS 0 message behind the next of its topic", reorder(ToClient, 0, 1)),
		load("reorder-qos2", "sends a QoS 2 message behind the next of its topic", reorder(ToClient, 2, 1)),
		load("reorder-far", "sends a QoS 1 message behind the next five of its topic", reorder(ToClient, 1, 5)),
		load("store-late", "stores a QoS 1 message behind the next of its topic", reorder(ToBroker, 1, 1)),
		load("store-late-qos2", "stores a QoS 2 message behind the next of its topic", reorder(ToBroker, 2, 1)),

		// Changed.
		load("corrupt", "changes the last byte of a payload", damage(corruptLast)),
		load("corrupt-first", "changes the first byte of a payload", damage(corruptFirst)),
		load("corrupt-qos0", "changes the last byte of a QoS 0 payload", corruptQoS0),
		load("truncate", "cuts the second half of a payload off", damage(truncateHalf)),
		load("extend", "sends a byte more than the payload has", damage(extendByte)),
		load("empty", "sends no payload", damage(emptied)),
		load("zero", "sends zeros instead of a payload", damage(zeroed)),
		load("store-damaged", "stores a payload with a byte changed", storeDamaged),

		// Not for them, and never sent.
		load("invent", "sends a message that was never published", damage(invented)),
		load("other-run", "sends a message of another time", damage(ofAnotherRun)),
		load("rename", "sends a message under another topic", rename),
		load("retain-live", "sends a message with RETAIN to a subscription that was there before", retainLive),

		// QoS and answers.
		{Name: "grant-less", What: "grants QoS 0 and sends what it pleases", Shows: InLoad, Always: true, do: grantLess},
		load("raise", "sends a QoS 0 message with QoS 1", raise),
		load("lower", "sends a QoS 1 message with QoS 0", lower(1)),
		load("lower-qos2", "sends a QoS 2 message with QoS 0", lower(2)),
		load("wrong-ack", "acknowledges the first QoS 1 messages with another packet id", wrongAnswer(Puback)),
		load("wrong-rec", "answers the first QoS 2 messages with another packet id", wrongAnswer(Pubrec)),
		load("wrong-comp", "completes the first QoS 2 messages with another packet id", wrongAnswer(Pubcomp)),
		load("ack-as-qos2", "answers the first QoS 1 messages with PUBREC", ackAsQoS2),
		load("ack-as-qos1", "answers the first QoS 2 messages with PUBACK", ackAsQoS1),

		load("ack-unasked", "acknowledges an unused packet id", ackUnasked),

		// Sessions.
		resume("forget-session", "says that it has no session, even if it has one", forgetSession),
		resume("forget-queue", "does not deliver the first three QoS 1 messages after a session is resumed", forgetQueue),
		resume("forget-subscriptions", "delivers no QoS 1 message after a session is resumed", forgetSubscriptions),
		resume("forget-order", "sends the first QoS 1 message after a session is resumed behind the next five of its topic", forgetOrder),
		{Name: "publish-first", What: "sends the first QoS 1 message of a resumed session before CONNACK", Shows: InConnack, Always: true, do: publishFirst},
		resume("feign-session", "says that it has the session, and has none", feignSession),

		{Name: "forget-release", What: "releases no QoS 2 message that its client answered before the session was resumed", Shows: InRelease, Always: true, do: forgetRelease},
		{Name: "outlive-session", What: "reports an expired session as present", Shows: InEnds, Always: true, do: outliveSession},

		// Shared subscriptions.
		{Name: "share-twice", What: "sends a QoS 1 message of a shared subscription to a second member too", Shows: InShares, do: shareTwice},
		{Name: "share-forget", What: "forgets three QoS 1 messages of a member of a shared subscription that was away", Shows: InShares, Always: true, do: shareForget},

		// Neighbours.
		{Name: "stall-all", What: "delivers no QoS 1 message while one client does not acknowledge its own", Shows: InStalls, Always: true, do: stallAll},

		// Late, and lost.
		{Name: "stall-and-drop", What: "forgets a QoS 1 message, and keeps its client waiting for the others for eight seconds", Shows: InWaits, Always: true, do: stallAndDrop},

		// Wills.
		{Name: "will-missing", What: "publishes no will", Shows: InWills, Always: true, do: willMissing},
		{Name: "will-twice", What: "publishes every will twice", Shows: InWills, Always: true, do: willTwice},
		{Name: "will-undue", What: "publishes the will of who has said goodbye", Shows: InWills, Always: true, do: willUndue},

		// Retained messages.
		retains("retained-stale", "sends a new subscription the retained message before the last", retainedAs((*planted).before)),
		retains("retained-missing", "sends a new subscription no retained message", retainedMissing),
		retains("retained-lost", "acknowledges four retained messages of a topic in a row and forgets them", retainedLost),
		retains("retained-other", "sends a new subscription what is retained on another topic", retainedAs((*planted).other)),
		retains("retained-damaged", "sends a new subscription a retained message with a byte changed", retainedDamaged),
	}
}

// An act is what a plant does with a packet: it passes it on, or does not.
type act = func(c *planted, p packet, b []byte, way Direction) error
