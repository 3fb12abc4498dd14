package cluster

// usualQueue is how many messages many brokers keep for a session: mosquitto
// (max_queued_messages), EMQX (max_mqueue_len), HiveMQ (max-queue-size) and VerneMQ
// (max_offline_messages) do by default.
const usualQueue = 1000

// QueueLimit returns how many messages of QoS 1 and 2 the nodes of a cluster keep for a
// session, or are taken to keep where nobody knows; 0: no limit. The configuration is
// one that [Check] takes.
func QueueLimit(config Config) int {
	if limit := config.flavor().Queue; limit != nil {
		return limit(config)
	}
	return 0
}
