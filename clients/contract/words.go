package contract

// Protocols that a client may speak.
const (
	MQTT3 = "mqtt3"
	MQTT5 = "mqtt5"
	MQ9   = "mq9"
)

// Protocols are all of them.
func Protocols() []string { return []string{MQTT3, MQTT5, MQ9} }

// Transports that a client may use.
const (
	TCP = "tcp"
	TLS = "tls"
	WS  = "ws"  // MQTT over WebSocket, path /mqtt
	WSS = "wss" // the same over TLS
)

// Words for the limitations of an SDK: things that it cannot show or do.
const (
	// CannotExactlyOnce: what it publishes at QoS 2 it may itself send twice
	// when its connection is lost, so that a duplicate need not be the broker's.
	CannotExactlyOnce = "exactly_once"
	// CannotPauseConnected: while paused it sends no pings, and loses its
	// connection after one and a half times its keep alive.
	CannotPauseConnected = "pause_connected"
	// CannotSessionPresent: it does not show whether the broker kept the session.
	CannotSessionPresent = "session_present"
	// CannotPacketID: it does not show packet ids.
	CannotPacketID = "packet_id"
	// CannotGrantedQoS: it does not show the QoS that a SUBACK granted.
	CannotGrantedQoS = "granted_qos"
	// CannotDup: it does not show the DUP flag of a message.
	CannotDup = "dup"
	// CannotProtocol: it speaks the protocol as it was in an earlier version,
	// which brokers of today refuse.
	CannotProtocol = "protocol"
	// CannotTold: it has no event by which an application learns that a publish
	// is done.
	CannotTold = "told"
	// CannotPublishReason: it shows no reason code of a PUBACK, so that a
	// message refused by an MQTT 5 broker reads as acknowledged.
	CannotPublishReason = "publish_reason"
	// CannotWithholdAck: it acknowledges a message before the application has it,
	// so that neither a pause nor a delay holds the acknowledgement back.
	CannotWithholdAck = "withhold_ack"
	// CannotDedupeAtOnce: of a message of QoS 2 that a broker sends twice on one
	// connection, it passes on both where it has not answered the first yet,
	// against [MQTT-4.3.3-10] of MQTT 5.
	CannotDedupeAtOnce = "dedupe_at_once"
	// CannotFetch: it writes no line of a fetch from a mailbox, and gives neither
	// mailboxes nor messages a time to live.
	CannotFetch = "fetch"
)
