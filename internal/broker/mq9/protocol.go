package mq9

// Subjects, https://github.com/robustmq/mq9 protocol.md.
const (
	prefix        = "$mq9.AI."
	subjectCreate = "$mq9.AI.MAILBOX.CREATE"
	subjectSend   = "$mq9.AI.MSG.SEND."
	subjectFetch  = "$mq9.AI.MSG.FETCH."
	subjectAck    = "$mq9.AI.MSG.ACK."
	subjectQuery  = "$mq9.AI.MSG.QUERY."
	subjectDelete = "$mq9.AI.MSG.DELETE."

	subjectRegister   = "$mq9.AI.AGENT.REGISTER"
	subjectUnregister = "$mq9.AI.AGENT.UNREGISTER"
	subjectReport     = "$mq9.AI.AGENT.REPORT"
	subjectDiscover   = "$mq9.AI.AGENT.DISCOVER"
)

// Headers of a message that is sent.
const (
	headerPriority = "mq9-priority"
	headerKey      = "mq9-key"
	headerTags     = "mq9-tags"  // separated by commas
	headerDelay    = "mq9-delay" // seconds until it may be fetched
	headerTTL      = "mq9-ttl"   // seconds from sending until it may not be fetched any more
)

// priorities, the first to be delivered first.
func priorities() []string { return []string{"critical", "urgent", "normal"} }

type createRequest struct {
	Name string  `json:"name"`
	TTL  *uint64 `json:"ttl"` // seconds; 0: for ever; absent: a day
	Desc string  `json:"desc"`
}

type createReply struct {
	Error   string `json:"error"`
	Address string `json:"mail_address"`
}

type sendReply struct {
	Error string `json:"error"`
	ID    int64  `json:"msg_id"` // -1 of one that is delayed: it has none yet
}

type fetchRequest struct {
	Group    string `json:"group_name"`
	Deliver  string `json:"deliver"` // latest, earliest, from_time, from_id; "": latest
	FromTime int64  `json:"from_time"`
	FromID   uint64 `json:"from_id"`
	Force    bool   `json:"force_deliver"`
	Config   struct {
		Messages  *int   `json:"num_msgs"`
		MaxWaitMS *int64 `json:"max_wait_ms"`
	} `json:"config"`
}

type queryRequest struct {
	Key   string   `json:"key"`
	Tags  []string `json:"tags"`
	Since int64    `json:"since"` // seconds
	Limit int      `json:"limit"`
}

type messagesReply struct {
	Error    string    `json:"error"`
	Messages []message `json:"messages"`
}

type message struct {
	ID       uint64 `json:"msg_id"`
	Payload  string `json:"payload"`
	Priority string `json:"priority"`
	Created  int64  `json:"create_time"` // seconds
}

type ackRequest struct {
	Group   string  `json:"group_name"`
	Address string  `json:"mail_address"`
	ID      *uint64 `json:"msg_id"`
}

type errorReply struct {
	Error string `json:"error"`
}

type deleteReply struct {
	Error   string `json:"error"`
	Deleted bool   `json:"deleted"`
}

// agentRequest is what names an agent; the rest of a registration is its own.
type agentRequest struct {
	Name    string `json:"name"`
	Mailbox string `json:"mailbox"`
	Payload string `json:"payload"` // of a registration that is no card: what is registered
}

type discoverRequest struct {
	Text     string `json:"text"`
	Semantic string `json:"semantic"`
	Limit    *int   `json:"limit"`
	Page     int    `json:"page"` // from 1
}

type discoverReply struct {
	Error  string  `json:"error"`
	Agents []agent `json:"agents"`
}

type agent struct {
	Name string `json:"name"`
	Info string `json:"agent_info"`
}
