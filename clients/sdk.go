package clients

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/near"
)

// An SDK is one version of a client library that we have a driver for.
type SDK struct {
	Lang       string   `json:"lang"`    // go
	Package    string   `json:"package"` // paho.mqtt.golang
	Version    string   `json:"version"`
	Protocols  []string `json:"protocols"`
	Transports []string `json:"transports,omitempty"` // besides tcp: tls, ws, wss
	Needs      string   `json:"needs,omitempty"`      // the least version of its language's compiler or interpreter
	Wills      bool     `json:"wills,omitempty"`      // its driver can leave a will
	Builtin    bool     `json:"builtin"`              // its driver is in this binary; others are provisioned on first use

	// Fields of its driver's hello, known before the driver runs.
	Dedupes bool     `json:"dedupes"`          // it removes QoS 2 duplicates by packet id itself
	Cannot  []string `json:"cannot,omitempty"` // what it cannot show or do; CONTRACT.md lists the words
}

// String is the SDK's full name, lang/package@version.
func (s SDK) String() string { return s.Lang + "/" + s.Package + "@" + s.Version }

// Speaks reports whether the SDK speaks a protocol. Every SDK speaks "".
func (s SDK) Speaks(protocol string) bool {
	return protocol == "" || slices.Contains(s.Protocols, protocol)
}

// Carry is nil where the SDK's driver can use a transport, as every one can tcp.
func (s SDK) Carry(transport string) error {
	all := append([]string{contract.TCP}, s.Transports...)
	if transport == "" || slices.Contains(all, transport) {
		return nil
	}
	return fmt.Errorf("%s has no transport %q; it has %s", s, transport, strings.Join(all, ", "))
}

// CanWill is nil where the SDK's driver can leave a will.
func (s SDK) CanWill() error {
	if s.Wills {
		return nil
	}
	var can []string
	for _, l := range Libraries() {
		if l.Wills {
			can = append(can, l.Lang+"/"+l.Package)
		}
	}
	return fmt.Errorf("the driver of %s leaves no will; choose %s", s, strings.Join(can, " or "))
}

// Resolve finds the SDK that a person means: go, go@1.5.1,
// go/paho.mqtt.golang@1.5.1, python@2.x, paho-mqtt@2.1.0. Without a version it is the newest.
func Resolve(name string) (SDK, error) { return ResolveFor(name, "") }

// ResolveFor is Resolve among the SDKs that speak a protocol: for mqtt5, go is
// paho.golang.
func ResolveFor(name, protocol string) (SDK, error) {
	for _, sdk := range named(name) {
		if sdk.Speaks(protocol) {
			return sdk, nil
		}
	}
	return SDK{}, unknownSDK(name, protocol)
}

// ResolveAll finds all SDKs that a person means: python is every version of
// every library of Python, python@latest the newest of each.
func ResolveAll(name string) ([]SDK, error) {
	found := named(name)
	if len(found) == 0 {
		return nil, unknownSDK(name, "")
	}
	if _, version, _ := strings.Cut(name, "@"); strings.EqualFold(version, "latest") {
		library := ""
		found = slices.DeleteFunc(found, func(s SDK) bool {
			older := library == s.Lang+"/"+s.Package
			library = s.Lang + "/" + s.Package
			return older
		})
	}
	return found, nil
}

// named are the SDKs that a name matches.
func named(name string) []SDK {
	library, version, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "@")
	if lang := languageOf(library); lang != "" {
		library = lang + "/" + library
	}
	lang, pkg, _ := strings.Cut(library, "/")
	if lang == "go" && pkg == liar && version != "" {
		return []SDK{liarOf(version)}
	}
	return slices.DeleteFunc(SDKs(), func(s SDK) bool {
		return s.Lang != lang || pkg != "" && s.Package != pkg || !matches(s.Version, version)
	})
}

// languageOf is the only language that has a library of a name, "" for none or several.
func languageOf(library string) (lang string) {
	for _, l := range Libraries() {
		switch {
		case l.Package != library:
		case lang != "":
			return ""
		default:
			lang = l.Lang
		}
	}
	return lang
}

// unknownSDK names the libraries of the language with their versions. If there is no such
// language, it suggests a library, or names them all.
func unknownSDK(name, protocol string) error {
	speaking := ""
	if protocol != "" {
		speaking = " that speaks " + protocol
	}
	lang, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "@")
	lang, _, _ = strings.Cut(lang, "/")
	var known, there, libraries []string
	for _, l := range Libraries() {
		library := l.Lang + "/" + l.Package
		libraries, known = append(libraries, library), append(known, l.Lang, library)
		if l.Lang != lang {
			continue
		}
		var versions []string
		for _, v := range l.Versions {
			versions = append(versions, v.Version)
		}
		text := library + "@" + strings.Join(versions, "|")
		if protocol != "" && !slices.Contains(l.Protocols, protocol) {
			text += " (" + strings.Join(l.Protocols, ", ") + " only)"
		}
		there = append(there, text)
	}
	if len(there) > 0 {
		return fmt.Errorf("no SDK %q%s; there are %s", name, speaking, strings.Join(there, ", "))
	}
	return fmt.Errorf("no SDK %q%s%s; `rmq-mcp list sdks`, or preflight, has their versions", name, speaking, near.Hint(name, known, "; there are "+strings.Join(libraries, ", ")))
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
