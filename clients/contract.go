// Package clients runs client SDKs. Each SDK has a driver, a small program in
// the SDK's own language that speaks the driver contract: a specification and
// commands as JSON lines on its standard input, events as JSON lines on its
// standard output. CONTRACT.md says all that a stranger needs to write one.
package clients

// Contract is the version of the driver contract.
const Contract = 1

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
	Endpoints     []string       `json:"endpoints"` // host:port; the first is tried first, then in turn
	Protocol      string         `json:"protocol"`  // mqtt3, mqtt5
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
	ReadRegisters *ReadRegisters `json:"read_registers,omitempty"`
	DelayMS       int            `json:"delay_ms,omitempty"` // a slow consumer: time spent on each message before it is acknowledged
}

// A Filter is one subscription.
type Filter struct {
	Filter string `json:"filter"`
	QoS    uint8  `json:"qos"`
}

// Publish is a producer's work: round robin over its streams, open loop at the
// rate until "end" or until Count messages were called.
type Publish struct {
	Streams      []Stream `json:"streams"`
	RatePerS     float64  `json:"rate_per_s"`      // all streams of this client together
	Count        int64    `json:"count,omitempty"` // 0: until "end"
	PayloadBytes int      `json:"payload_bytes"`
	MaxInflight  int      `json:"max_inflight"` // publishes called and not returned; at the limit the producer waits
}

// A Stream is one producer's messages on one topic with one QoS.
type Stream struct {
	Stream int32  `json:"stream"` // its number in every event
	Topic  string `json:"topic"`
	QoS    uint8  `json:"qos"`
	Retain bool   `json:"retain,omitempty"`
}

// ReadRegisters makes a client read retained messages: subscribe to one topic
// after the other on a fresh clean session, report what is retained, close.
type ReadRegisters struct {
	Topics  []string `json:"topics"`
	EveryMS int      `json:"every_ms"`
	WaitMS  int      `json:"wait_ms"` // with nothing retained seen after this, the register was empty
}

// A Command is a further line on the driver's standard input. Process None (-1)
// means all clients of the driver.
type Command struct {
	Do      string `json:"do"` // connect, pause, resume, disconnect, reconnect, end
	Process int32  `json:"process"`
}

// A Line is one event on a driver's standard output. It is flushed before the
// driver does what it announces.
type Line struct {
	E   string `json:"e"`             // hello, call, return, point, bye, log
	T   int64  `json:"t"`             // nanoseconds of CLOCK_MONOTONIC
	K   string `json:"k,omitempty"`   // connect, disconnect, subscribe, publish, deliver, fetch, pause, resume
	P   int32  `json:"p"`             // process
	C   int64  `json:"c,omitempty"`   // of a call and its return: a number of the driver's choosing, unique in it, from 1
	O   string `json:"o,omitempty"`   // of a return: ok, fail, info
	R   int    `json:"r,omitempty"`   // MQTT reason code
	S   *int32 `json:"s,omitempty"`   // of a publish: stream
	N   *int64 `json:"n,omitempty"`   // of a publish: sequence number
	End bool   `json:"end,omitempty"` // of a publish: it is the stream's end marker
	Q   uint8  `json:"q,omitempty"`   // QoS
	I   *int64 `json:"i,omitempty"`   // packet id
	A   string `json:"a,omitempty"`   // of a connect: the endpoint
	SP  bool   `json:"sp,omitempty"`  // of a connect's return: session present
	Dup bool   `json:"dup,omitempty"`
	Ret bool   `json:"ret,omitempty"`
	H   string `json:"h,omitempty"`   // of a delivery: the payload's header as it arrived
	Crc string `json:"crc,omitempty"` // of a delivery: CRC-32 of the payload without the header's own crc field, 8 hex digits
	Len int    `json:"len,omitempty"` // of a delivery: bytes of payload
	X   string `json:"x,omitempty"`   // error, filter, reason in words

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
