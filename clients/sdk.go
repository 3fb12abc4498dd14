package clients

import (
	"fmt"
	"slices"
	"strings"
)

// Protocols that a client may speak.
const (
	MQTT3 = "mqtt3"
	MQTT5 = "mqtt5"
)

// An SDK is one version of a client library that we have a driver for.
type SDK struct {
	Lang      string   `json:"lang"`    // go
	Package   string   `json:"package"` // paho.mqtt.golang
	Version   string   `json:"version"`
	Protocols []string `json:"protocols"`
	Builtin   bool     `json:"builtin"` // its driver is in this binary; others are provisioned on first use

	// What its driver's hello says, known before it runs.
	Dedupes bool     `json:"dedupes"`          // it removes QoS 2 duplicates by packet id itself
	Cannot  []string `json:"cannot,omitempty"` // what it cannot show or do; CONTRACT.md lists the words
}

// String is the SDK's full name, lang/package@version.
func (s SDK) String() string { return s.Lang + "/" + s.Package + "@" + s.Version }

// Speaks reports whether the SDK speaks a protocol. Every SDK speaks "".
func (s SDK) Speaks(protocol string) bool {
	return protocol == "" || slices.Contains(s.Protocols, protocol)
}

// SDKs is the catalogue. Of one language and protocol, the first is the one to
// use where no version is asked for.
func SDKs() []SDK {
	return []SDK{
		{Lang: "go", Package: "paho.mqtt.golang", Version: "1.5.1", Protocols: []string{MQTT3}, Builtin: true,
			Cannot: []string{CannotExactlyOnce}},
		{Lang: "go", Package: "paho.golang", Version: "0.23.0", Protocols: []string{MQTT5}, Builtin: true, Dedupes: true},
		{Lang: "python", Package: "paho-mqtt", Version: "2.1.0", Protocols: []string{MQTT3, MQTT5}, Dedupes: true},
		{Lang: "python", Package: "paho-mqtt", Version: "1.6.1", Protocols: []string{MQTT3, MQTT5}, Dedupes: true,
			Cannot: []string{CannotPauseConnected, CannotPublishReason}},
	}
}

// What an SDK cannot show or do.
const (
	// CannotExactlyOnce: what it publishes at QoS 2 it may itself send twice
	// when its connection is lost, so that a duplicate need not be the broker's.
	CannotExactlyOnce = "exactly_once"
	// CannotPauseConnected: while paused it sends no pings, and loses its
	// connection after one and a half times its keep alive.
	CannotPauseConnected = "pause_connected"
	// CannotPublishReason: it shows no reason code of a PUBACK, so that a
	// message refused by an MQTT 5 broker reads as acknowledged.
	CannotPublishReason = "publish_reason"
)

// Resolve finds the SDK that a person means: go, go@1.5.1,
// go/paho.mqtt.golang@1.5.1, python@2.x. Without a version it is the newest.
func Resolve(name string) (SDK, error) { return ResolveFor(name, "") }

// ResolveFor is Resolve among the SDKs that speak a protocol: for mqtt5, go is
// paho.golang.
func ResolveFor(name, protocol string) (SDK, error) {
	library, version, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "@")
	lang, pkg, _ := strings.Cut(library, "/")
	var others []string
	for _, sdk := range SDKs() {
		if sdk.Lang != lang || pkg != "" && sdk.Package != pkg || !matches(sdk.Version, version) {
			others = append(others, sdk.String())
			continue
		}
		if sdk.Speaks(protocol) {
			return sdk, nil
		}
		others = append(others, sdk.String()+" ("+strings.Join(sdk.Protocols, ", ")+" only)")
	}
	speaking := ""
	if protocol != "" {
		speaking = " that speaks " + protocol
	}
	return SDK{}, fmt.Errorf("no SDK %q%s; there are %s", name, speaking, strings.Join(others, ", "))
}

// matches reports whether a version is the one asked for: itself, a prefix
// (1, 1.5, 1.x), or anything for "" and latest.
func matches(version, want string) bool {
	if want == "" || want == "latest" {
		return true
	}
	want = strings.TrimSuffix(strings.TrimPrefix(want, "v"), ".x")
	return version == want || strings.HasPrefix(version, want+".")
}
