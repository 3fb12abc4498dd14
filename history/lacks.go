package history

// UnknownVersion is the version of external brokers.
const UnknownVersion = "unknown"

// UnknownQueue is the queue limit of a node that limits something else than the number of
// messages, such as their bytes.
const UnknownQueue = -1

// LacksOfExternal returns the things that a broker run by somebody else lacks.
func LacksOfExternal() map[string]string {
	return map[string]string{
		LacksLogs:      "the logs of an external broker are not ours to read",
		LacksResources: "what an external broker takes is not ours to see",
		LacksProcesses: "the processes of an external broker are not ours to watch",
		LacksFaults:    "an external broker is not ours to break",
		LacksPromises:  "what this broker promises beside its protocol is not known here",
		LacksLimits:    "how many messages this broker keeps for a session is not known here",
	}
}

// fill adds what run.json did not say before it had the field.
func (c *ClusterInfo) fill() {
	if c.Lacks == nil && c.Flavor == "external" {
		c.Lacks = LacksOfExternal()
	}
	if c.SessionS == 0 && c.Flavor == "robustmq" {
		c.SessionS = seconds(c.Config, "mqtt_runtime.protocol.default_session_expiry_interval", 1)
		c.WaitS = seconds(c.Config, "mqtt_runtime.offline_message.expire_ms", 1e-3)
	}
}

// seconds is a time among the settings of a broker, in seconds; 0 for none.
func seconds(config map[string]any, key string, unit float64) float64 {
	n, _ := config[key].(float64)
	return n * unit
}
