package clients

import (
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	for _, test := range []struct{ name, protocol, want string }{
		{"go", "", "go/paho.mqtt.golang@1.5.1"},
		{"go", MQTT3, "go/paho.mqtt.golang@1.5.1"},
		{"go", MQTT5, "go/paho.golang@0.23.0"},
		{"go@1.5.1", "", "go/paho.mqtt.golang@1.5.1"},
		{"go/paho.mqtt.golang@1.5.1", "", "go/paho.mqtt.golang@1.5.1"},
		{"go/paho.golang", "", "go/paho.golang@0.23.0"},
		{"go@0.23.0", MQTT5, "go/paho.golang@0.23.0"},
		{"python", "", "python/paho-mqtt@2.1.0"},
		{"Python@latest", MQTT5, "python/paho-mqtt@2.1.0"},
		{"python@2.x", "", "python/paho-mqtt@2.1.0"},
		{"python@1.6", MQTT5, "python/paho-mqtt@1.6.1"},
		{"python@v1.6.1", "", "python/paho-mqtt@1.6.1"},
	} {
		got, err := ResolveFor(test.name, test.protocol)
		if err != nil || got.String() != test.want {
			t.Errorf("%s for %q: %s, %v; want %s", test.name, test.protocol, got, err, test.want)
		}
	}
}

func TestResolveNamesTheOthers(t *testing.T) {
	for _, test := range []struct{ name, protocol, want string }{
		{"cobol", "", "python/paho-mqtt@2.1.0"},
		{"go@9", "", "go/paho.mqtt.golang@1.5.1"},
		{"go@1.5.1", MQTT5, "go/paho.mqtt.golang@1.5.1 (mqtt3 only)"},
		{"", "", "go/paho.golang@0.23.0"},
		{"python@1.", "", "python/paho-mqtt@1.6.1"},
	} {
		sdk, err := ResolveFor(test.name, test.protocol)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q for %q: %s, %v; want an error that names %s", test.name, test.protocol, sdk, err, test.want)
		}
	}
}
