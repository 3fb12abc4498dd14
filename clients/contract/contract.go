// Package contract is what rmq-mcp and a driver say to each other: a
// specification and commands as JSON lines on the driver's standard input,
// events as JSON lines on its standard output. CONTRACT.md, one folder up, says
// all that a stranger needs to write a driver. The package imports the standard
// library only, so that a driver in Go is a small module of its own.
package contract

import "strings"

// Version is the version of the driver contract.
const Version = 1

// ExitOwn is the exit status of a driver that ends because of itself and not of its
// SDK: EX_SOFTWARE.
const ExitOwn = 70

// A Spec is the first line on a driver's standard input.
type Spec struct {
	Contract  int      `json:"contract"`
	Run       string   `json:"run"`             // eight characters, in every payload
	Epoch     int      `json:"epoch,omitempty"` // how many driver processes ran these clients before this one: the payload's incarnation
	Clients   []Client `json:"clients"`         // all run in the one driver process
	AckWaitMS int      `json:"ack_wait_ms"`     // how long after "end" to wait for outstanding acknowledgements
}

// A Client is one logical client, one MQTT session.
type Client struct {
	Process       int32          `json:"process"` // its number in every event
	ClientID      string         `json:"client_id"`
	Endpoints     []string       `json:"endpoints"`           // host:port; the first is tried first, then in turn
	Protocol      string         `json:"protocol"`            // mqtt3, mqtt5, mq9
	Transport     string         `json:"transport,omitempty"` // tcp, tls, ws, wss; "" is tcp
	CA            string         `json:"ca,omitempty"`        // tls, wss: file of the certificate to trust, PEM; names are not compared
	Username      string         `json:"username,omitempty"`
	Password      string         `json:"password,omitempty"`
	Clean         bool           `json:"clean"`
	ExpiryS       int            `json:"expiry_s,omitempty"` // mqtt5 session expiry
	KeepAliveS    int            `json:"keep_alive_s"`
	ReceiveMax    int            `json:"receive_max,omitempty"` // mqtt5
	ReconnectMS   int            `json:"reconnect_ms"`          // between attempts, constant
	Start         string         `json:"start"`                 // "connected": connect and act at once; "waiting": only on "connect"
	Subscribe     []Filter       `json:"subscribe,omitempty"`
	Publish       *Publish       `json:"publish,omitempty"`
	Will          *Will          `json:"will,omitempty"`
	ReadRegisters *ReadRegisters `json:"read_registers,omitempty"`
	DelayMS       int            `json:"delay_ms,omitempty"` // a slow consumer: time spent on each message before it is acknowledged
}

// A Filter is one subscription.
type Filter struct {
	Filter string `json:"filter"`
	QoS    uint8  `json:"qos"`
	TTLS   int    `json:"ttl_s,omitempty"` // mq9: time to live of the mailbox where this makes it; 0 is not said
}

// CutGroup returns the group as which a client of mq9 reads by a filter, and the mailbox:
// $share/GROUP/MAILBOX is read as GROUP by several clients, and any other filter by the
// client alone, as own.
func CutGroup(filter, own string) (group, mailbox string) {
	if rest, shared := strings.CutPrefix(filter, "$share/"); shared {
		group, mailbox, _ = strings.Cut(rest, "/")
		return group, mailbox
	}
	return own, filter
}

// Publish is a producer's work: round robin over its streams, open loop at the
// rate until "end" or until Count messages were called.
type Publish struct {
	Streams      []Stream `json:"streams"`
	RatePerS     float64  `json:"rate_per_s"`         // all streams of this client together
	FirstMS      int      `json:"first_ms,omitempty"` // how long the first message is put off; 0: it is published at once
	Count        int64    `json:"count,omitempty"`    // 0: until "end"
	PayloadBytes int      `json:"payload_bytes"`
	MaxInflight  int      `json:"max_inflight"` // publishes called and not returned; at the limit the producer waits
}

// A Stream is one producer's messages on one topic with one QoS.
type Stream struct {
	Stream   int32  `json:"stream"` // its number in every event
	Topic    string `json:"topic"`
	QoS      uint8  `json:"qos"`
	Retain   bool   `json:"retain,omitempty"`
	Priority string `json:"priority,omitempty"` // mq9: critical, urgent, normal; "" is normal
	TTLS     int    `json:"ttl_s,omitempty"`    // mq9: time to live of each message but end markers; 0 is none
	Unmarked bool   `json:"unmarked,omitempty"` // mq9: the mailbox may be over in the end; it gets no end marker
}

// A Will is what the broker is to publish where it loses the client. Each CONNECT
// carries a message of its own, the next of the will's stream.
type Will struct {
	Stream       int32  `json:"stream"` // its number in every event
	Topic        string `json:"topic"`
	QoS          uint8  `json:"qos"`
	PayloadBytes int    `json:"payload_bytes"`
}

// ReadRegisters makes a client read retained messages: subscribe to one topic
// after the other on a fresh clean session, report what is retained, close.
type ReadRegisters struct {
	Topics  []string `json:"topics"`
	EveryMS int      `json:"every_ms"`
	WaitMS  int      `json:"wait_ms"` // with nothing retained seen after this, the register was empty
}

// All names every client of a driver in a [Command].
const All = -1

// A Command is a further line on the driver's standard input.
type Command struct {
	Do      string `json:"do"`      // connect, pause, resume, disconnect, reconnect, finish, end
	Process int32  `json:"process"` // or All
}

// A Line is one event on a driver's standard output. It is flushed before the
// driver does what it announces.
type Line struct {
	Edge           string `json:"e"`             // hello, call, return, point, bye, log
	TimeNS         int64  `json:"t"`             // nanoseconds of CLOCK_MONOTONIC
	Kind           string `json:"k,omitempty"`   // connect, disconnect, subscribe, publish, told, deliver, fetch, pause, resume
	Process        int32  `json:"p"`             // process
	Call           int64  `json:"c,omitempty"`   // of a call and its return: a number of the driver's choosing, unique in it, from 1
	Outcome        string `json:"o,omitempty"`   // of a return, and of what was told: ok, fail, info; of a disconnect: ok where DISCONNECT was sent
	Reason         int    `json:"r,omitempty"`   // MQTT reason code
	Stream         *int32 `json:"s,omitempty"`   // of a publish, of what was told of one, and of the will of a connect: stream
	Seq            *int64 `json:"n,omitempty"`   // likewise: sequence number
	End            bool   `json:"end,omitempty"` // of a publish: it is the stream's end marker
	QoS            uint8  `json:"q,omitempty"`   // QoS
	ID             *int64 `json:"i,omitempty"`   // packet id
	Endpoint       string `json:"a,omitempty"`   // of a connect: the endpoint
	SessionPresent bool   `json:"sp,omitempty"`  // of a connect's return: session present
	Dup            bool   `json:"dup,omitempty"`
	Retain         bool   `json:"ret,omitempty"`
	Header         string `json:"h,omitempty"`   // of a delivery: the payload's header as it arrived
	CRC            string `json:"crc,omitempty"` // of a delivery: CRC-32 of the payload without the header's own crc field, 8 hex digits
	Length         int    `json:"len,omitempty"` // of a delivery: bytes of payload
	Text           string `json:"x,omitempty"`   // error, filter, reason in words; of a delivery over MQTT: the topic that it came under

	// of hello
	Contract int      `json:"contract,omitempty"`
	SDK      string   `json:"sdk,omitempty"`     // paho.mqtt.golang
	Version  string   `json:"version,omitempty"` // as the SDK reports itself or as it was built with
	Clock    string   `json:"clock,omitempty"`   // monotonic, or process: t counts from an origin of its own
	Cannot   []string `json:"cannot,omitempty"`  // dup, packet_id, session_present, …: what the SDK does not show
	Dedupes  bool     `json:"dedupes,omitempty"` // the SDK removes QoS 2 duplicates itself

	// of bye
	Lines int64 `json:"lines,omitempty"` // lines written before this one
}
