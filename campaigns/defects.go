package campaigns

// KnownDefects are defects of client libraries by what a run shows of them, each
// with where its own project says so, or has the code that does it. None breaks recovery:
// the clients that show it are our own.
func KnownDefects() []Known {
	return []Known{
		{
			Library: "go/paho.mqtt.golang", Claims: []string{"sdk-honest"},
			Symptom: "a publish's token completes without error when the connection is replaced, before any PUBACK",
			Issue:   "https://github.com/eclipse-paho/paho.mqtt.golang/issues/458",
		},
		{
			Library: "go/paho.mqtt.golang", Until: "1.3.2", Claims: []string{"sdk-resend-dup"},
			Symptom: "what is sent again after a reconnect lacks DUP, until 1.3.3",
			Issue:   "https://github.com/eclipse-paho/paho.mqtt.golang/commit/59706a5",
		},
		{
			Library: "go/paho.mqtt.golang", Until: "1.2.0", Claims: []string{"progress", "qos1-no-loss", "qos2-no-loss"},
			Symptom: "resuming a session can deadlock, and publishes are lost on reconnect, until 1.3.0",
			Issue:   "https://github.com/eclipse-paho/paho.mqtt.golang/issues/278",
		},
		{
			Library: "python/paho-mqtt", Claims: []string{"qos2-exactly-once", "sdk-once", "sdk-qos2-flow"},
			Symptom: "what is published while a reconnect resumes can be sent twice, as a new message and again with DUP",
			Issue:   "https://github.com/eclipse-paho/paho.mqtt.python/pull/698",
		},
		{
			Library: "rust/rumqttc", Claims: []string{"qos2-no-loss", "sdk-qos2-flow", "sdk-pubcomp", "sdk-lives", "progress"},
			Symptom: "a PUBREL that the broker resumes is unsolicited to it: it disconnects and reconnects for ever",
			Issue:   "https://github.com/bytebeamio/rumqtt/issues/664",
		},
		{
			Library: "rust/rumqttc", Claims: []string{"progress", "sdk-lives", "sdk-resumes"},
			Symptom: "a collision of packet ids is not cleared when the session is lost: nothing is published any more",
			Issue:   "https://github.com/bytebeamio/rumqtt/issues/1056",
		},
		{
			Library: "rust/rumqttc", Claims: []string{"sdk-resend-dup"},
			Symptom: "it never sets DUP: its state knows no such flag",
			Issue:   "https://github.com/bytebeamio/rumqtt/blob/main/rumqttc/src/state.rs",
		},
		{
			Library: "rust/rumqttc", Claims: []string{"sdk-packet-id"},
			Symptom: "it gives a packet id to the next message once PUBREC is there: outgoing_publish looks at outgoing_pub alone, and not at outgoing_rel",
			Issue:   "https://github.com/bytebeamio/rumqtt/blob/main/rumqttc/src/state.rs",
		},
		{
			Library: "rust/rumqttc", Claims: []string{"qos2-exactly-once", "sdk-once"},
			Symptom: "it hands every PUBLISH of QoS 2 to the application: what came is forgotten on disconnect",
			Issue:   "https://github.com/bytebeamio/rumqtt/issues/664",
		},
		{
			Library: "js/mqtt", Claims: []string{"sdk-resend-dup"},
			Symptom: "what its store sends again keeps the DUP flag of the first time",
			Issue:   "https://github.com/mqttjs/MQTT.js/blob/main/src/lib/client.ts",
		},
		{
			Library: "js/mqtt", Until: "5.0.0", Claims: []string{"qos1-no-loss", "qos2-no-loss", "sdk-resubscribes"},
			Symptom: "it does not subscribe again when the broker has lost the session, until 5.0.1",
			Issue:   "https://github.com/mqttjs/MQTT.js/issues/895",
		},
		{
			Library: "js/mqtt", Until: "5.10.2", Claims: []string{"progress"},
			Symptom: "a CONNACK with an error ends reconnecting; from 5.10.3 reconnectOnConnackError asks otherwise",
			Issue:   "https://github.com/mqttjs/MQTT.js/releases/tag/v5.10.3",
		},
		{
			Library: "js/mqtt", From: "5.3.4", Until: "5.3.4", Claims: []string{"progress"},
			Symptom: "its keep alive reconnects in a loop",
			Issue:   "https://github.com/mqttjs/MQTT.js/issues/1779",
		},
		{
			Library: "java/org.eclipse.paho.client.mqttv3", From: "1.2.3", Until: "1.2.3", Claims: []string{"progress", "qos1-no-loss", "qos2-no-loss"},
			Symptom: "a regression of 1.2.3 alone, mended in 1.2.4",
			Issue:   "https://github.com/eclipse-paho/paho.mqtt.java/pull/745",
		},
	}
}
