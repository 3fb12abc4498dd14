package conformance

import (
	"strings"

	"golang.org/x/mod/semver"
)

// A Known is a violation that a broker is known for.
type Known struct {
	Name    string  // of the statement
	Version Version // 0: of both
	What    string  // the broker does
	Cite    string  // where that is said or can be read
	Until   string  // the first release that does not; "" where none is known
}

// KnownOf are the violations that a flavor of brokers is known for. Each was compared with the
// standard's text before it was listed here.
func KnownOf(flavor string) []Known {
	return map[string][]Known{"mosquitto": knownOfMosquitto(), "reference": knownOfReference()}[flavor]
}

// KnownIn are those of a list that a version has, such as mosquitto 2.0.11. Without a version
// they are all, and say before which release.
func KnownIn(all []Known, version string) (in []Known) {
	number := "v" + version[strings.LastIndexByte(version, ' ')+1:]
	for _, k := range all {
		switch {
		case k.Until == "":
		case version == "":
			k.What += ", before " + k.Until
		case semver.Compare(number, "v"+k.Until) >= 0:
			continue
		}
		in = append(in, k)
	}
	return in
}

func find(known []Known, s Statement) *Known {
	for _, k := range known {
		if k.Name == s.Name && (k.Version == 0 || k.Version == s.Version) {
			return &k
		}
	}
	return nil
}

// knownOfMosquitto are those of mosquitto 2.0.11, which Debian 12 has. ChangeLog
// and sources are those of github.com/eclipse-mosquitto/mosquitto.
func knownOfMosquitto() []Known {
	const (
		strict = "ChangeLog of 2.0.12, \"Strict protocol compliance fixes\""
		quota  = "src/database.c of 2.0.11: db__message_delete_outgoing counts the messages before the one that is done, and not all that are under way; issue 2306"
	)
	return []Known{
		{"take-over/says-why", V5, "closes the connection that was taken over without a DISCONNECT", "src/handle_connect.c of 2.0.11, which knows no code 0x8E; see also ChangeLog of 2.0.15, issue 2607", "2.0.15"},
		{"subscribe/overlapping-highest", V311, "sends one copy, with the QoS of the first matching subscription that it finds", "src/database.c of 2.0.11: db__message_insert sends no second copy to a client of MQTT 3.1.1, whatever its QoS; issue 3319", ""},
		{"will/after-second-connect", 0, "forgets the will of a client that sends a second CONNECT", "src/handle_connect.c of 2.0.11: handle_connect_error sets context->will to NULL", ""},
		{"will/delay-ends-with-session", V5, "waits for the will's delay, though the session ended", "issue 3505, fixed after 2.1.2", "2.1.3"},
		{"publish/many-open", V311, "acknowledges a message of QoS 1 beside 20 open exchanges of QoS 2, and delivers it to no client", "src/handle_publish.c of 2.0.11, and likewise of 2.1.2: what db__ready_for_flight refuses is acknowledged all the same, as PUBACK of MQTT 3.1.1 has no code", ""},
		{"publish/qos2-thrice", 0, "ends the connection of a client that sends a QoS 2 PUBLISH a third time before PUBREL", "issue 3602, open with 2.1.2", ""},
		{"flow/one-for-one", V5, "sends as many messages as the Receive Maximum when the first of them is done", quota, "2.0.13"},
		{"flow/in-order", V5, "sends a message of QoS 1 before older ones that wait, when many of QoS 2 are under way", quota, "2.0.13"},
		{"share/name", V5, "grants a shared subscription without a name", "src/topic_tok.c of 2.0.11: sub__topic_tokenise takes any name", ""},
		{"share/name-characters", V5, "grants a shared subscription without a filter, or with a wildcard for a name", "src/topic_tok.c of 2.0.11: sub__topic_tokenise asks for two levels; later ones ask for three and no wildcard", "2.1.0"},
		{"share/no-local", V5, "takes No Local on a shared subscription", "ChangeLog of 2.1.0: returns a protocol error since", "2.1.0"},
		{"malformed/server-packet", 0, "takes SUBACK from a client", "src/read_handle.c of 2.0.11, where it is compiled with bridges", ""},
		{"malformed/pingreq-flags", 0, "takes PINGREQ with reserved bits", "lib/handle_ping.c of 2.0.11; " + strict, "2.0.12"},
		{"malformed/connect-authentication-data-alone", V5, "takes authentication data without a method", "src/handle_connect.c of 2.0.11; later ones answer with a protocol error", "2.1.0"},
		{"malformed/publish-identifier", V5, "takes a PUBLISH with a subscription identifier", "src/handle_publish.c of 2.0.11, which skips the property", "2.1.0"},
		{"malformed/publish-response-wildcard", V5, "takes a response topic with a wildcard", "ChangeLog of 2.0.20, \"Don't allow invalid response topic values\"", "2.0.20"},
	}
}

// knownOfReference are those of nats-server, which the embedded broker is.
func knownOfReference() []Known {
	const (
		connect    = "server/mqtt.go of nats-server 2.15: mqttParseConnect, without a look at the bytes behind the last field"
		conversion = "server/mqtt.go of nats-server 2.15: mqttToNATSSubjectConversion, which turns # and + into NATS wildcards wherever they are, and lets * and > through"
	)
	return []Known{
		{"subscribe/replaced-qos", V311, "grants QoS 2 in place of 1, or 1 in place of 2, and sends with the QoS of before", "server/mqtt.go of nats-server 2.15: mqttSession.processJSConsumer does not change an existing consumer", ""},
		{"unsubscribe/wildcard-stops", V311, "still sends QoS 0 messages of the parent level of a filter with #", "server/mqtt.go of nats-server 2.15: mqttProcessUnsubs names the subscription of that level with a space, and client.processUnsub reads the second word as a number", ""},
		{"take-over/will", V311, "forgets the will of a client that is taken over", "server/mqtt.go of nats-server 2.15: mqttProcessConnect, \"Remove will of existing client before closing\"", ""},
		{"session/clean-discards-ids", V311, "answers a QoS 2 message after a clean start, and delivers it to no client, if its packet id was not released in the session before", "server/mqtt.go of nats-server 2.15: mqttSession.clear, which leaves the stream $MQTT_qos2in as it is", ""},
		{"refuse/user-without-flag", V311, "ignores fields of CONNECT without their flags", connect, ""},
		{"refuse/password-without-flag", V311, "ignores fields of CONNECT without their flags", connect, ""},
		{"filter/hash-not-last", V311, "grants a filter with # beside other characters", conversion, ""},
		{"filter/plus-not-alone", V311, "grants a filter with + beside other characters", conversion, ""},
		{"filter/other-characters", V311, "takes the levels * and > of a filter for wildcards", conversion, ""},
		{"group/workers-at-once", MQ9, "returns a message to every member that fetches before one acknowledged it, as RobustMQ does", "internal/broker/mq9/fetch.go: fetch, \"It moves no offset\"", ""},
		{"send/bytes", MQ9, "puts bytes that are no text into JSON as U+FFFD", "internal/broker/mq9/read.go: messageOf, as RobustMQ does", ""},
		{"apart/nats-subscriber", MQ9, "shows a client that subscribes to > every request of others", "server/sublist.go of nats-server 2.15: requests of mq9 are messages like any other there", ""},
	}
}
