package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// newestPaho is the SDK that python is short for.
var newestPaho = "python/paho-mqtt@" + pythonLibraries()[0].Versions[0].Version

func TestResolve(t *testing.T) {
	for _, test := range []struct{ name, protocol, want string }{
		{"go", "", "go/paho.mqtt.golang@1.5.1"},
		{"go", contract.MQTT3, "go/paho.mqtt.golang@1.5.1"},
		{"go", contract.MQTT5, "go/paho.golang@0.23.0"},
		{"go@1.5.1", "", "go/paho.mqtt.golang@1.5.1"},
		{"go/paho.mqtt.golang@1.5.1", "", "go/paho.mqtt.golang@1.5.1"},
		{"go/paho.golang", "", "go/paho.golang@0.23.0"},
		{"go@0.23.0", contract.MQTT5, "go/paho.golang@0.23.0"},
		{"python", "", newestPaho},
		{"Python@latest", contract.MQTT5, newestPaho},
		{"python@2.x", "", newestPaho},
		{"python@1.6", contract.MQTT5, "python/paho-mqtt@1.6.1"},
		{"python@v1.6.1", "", "python/paho-mqtt@1.6.1"},
		{"paho-mqtt@1.6.1", "", "python/paho-mqtt@1.6.1"},
		{"async-nats", contract.MQ9, "rust/async-nats@0.51.0"},
	} {
		got, err := ResolveFor(test.name, test.protocol)
		if err != nil || got.String() != test.want {
			t.Errorf("%s for %q: %s, %v; want %s", test.name, test.protocol, got, err, test.want)
		}
	}
}

func TestResolveNamesTheOthers(t *testing.T) {
	for _, test := range []struct{ name, protocol, want string }{
		{"cobol", "", "python/paho-mqtt"},
		{"go@9", "", "go/paho.mqtt.golang@1.5.1"},
		{"go@1.5.1", contract.MQTT5, "(mqtt3 only)"},
		{"", "", "go/paho.golang"},
		{"python@1.", "", "|1.6.1"},
		{"robustmq", "", "rust/robustmq"}, // two languages have it
	} {
		sdk, err := ResolveFor(test.name, test.protocol)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q for %q: %s, %v; want an error that names %s", test.name, test.protocol, sdk, err, test.want)
		}
	}
}

func TestCarry(t *testing.T) {
	sdk := SDK{Lang: "go", Package: "p", Version: "1", Transports: []string{contract.TLS}}
	for transport, want := range map[string]string{
		"": "", contract.TCP: "", contract.TLS: "", contract.WS: `go/p@1 has no transport "ws"; it has tcp, tls`,
	} {
		if got := fmt.Sprint(sdk.Carry(transport)); got != want && (want != "" || got != "<nil>") {
			t.Errorf("%q: %s, want %q", transport, got, want)
		}
	}
}

// Every version that is not in the binary has a lock: without one it could not be made.
func TestEveryVersionHasALock(t *testing.T) {
	for _, l := range Libraries() {
		for _, v := range l.Versions {
			if v.Builtin {
				continue
			}
			b, err := newBuild(l, l.sdk(v))
			if err == nil {
				err = b.readLock()
			}
			if err != nil {
				t.Errorf("%s: %v", l.sdk(v), err)
			}
		}
	}
}
