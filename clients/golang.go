package clients

import "github.com/robustmq/rmq-mcp/clients/contract"

// goLibraries are the SDKs of Go. The drivers of one version of each are part
// of this binary.
func goLibraries() []Library {
	return []Library{
		{
			Lang: "go", Package: "paho.mqtt.golang", Protocols: []string{contract.MQTT3}, Transports: everyTransport(), Wills: true,
			Cannot: []string{contract.CannotExactlyOnce},
			Versions: []Version{
				{Version: "1.5.1", Builtin: true},
				{Version: "1.4.3", Cannot: []string{contract.CannotPauseConnected}},
				{Version: "1.3.5", Cannot: []string{contract.CannotPauseConnected}},
				{Version: "1.3.2", Cannot: []string{contract.CannotPauseConnected}},
			},
			Needs: goDirective, Source: "go/pahomqtt", Shared: "go/driver",
			build: golang{module: "github.com/eclipse/paho.mqtt.golang", name: "pahomqtt", tags: map[string]string{"1.4.3": "autoack", "1.3.5": "autoack,paho13", "1.3.2": "autoack,paho13,paho132"}},
		},
		{
			Lang: "go", Package: "paho.golang", Protocols: []string{contract.MQTT5}, Transports: everyTransport(), Wills: true, Dedupes: true,
			Cannot: []string{contract.CannotDedupeAtOnce},
			Versions: []Version{
				{Version: "0.23.0", Builtin: true},
				{Version: "0.21.0"},
			},
			Needs: goDirective, Source: "go/pahov5", Shared: "go/driver",
			build: golang{module: "github.com/eclipse/paho.golang", name: "pahov5"},
		},
		{
			// No library: a client of our own, which does what a client has to do.
			Lang: "go", Package: "rmq-mcp", Protocols: []string{contract.MQTT3, contract.MQTT5}, Transports: everyTransport(), Wills: true, Dedupes: true,
			Versions: []Version{
				{Version: "1", Builtin: true},
			},
			Source: "go/native",
		},
		{
			Lang: "go", Package: "nats.go", Protocols: []string{contract.MQ9},
			Cannot: []string{contract.CannotSessionPresent, contract.CannotGrantedQoS, contract.CannotTold},
			Versions: []Version{
				{Version: "1.55.0", Builtin: true},
			},
			Source: "go/natsgo",
		},
	}
}
