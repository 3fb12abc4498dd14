package exam

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/conformance"
)

// The documents that come with the program name checks that exist.
func TestKnownOfShippedDocuments(t *testing.T) {
	for _, f := range cluster.Flavors() {
		if _, err := knownOf(f.Name); err != nil {
			t.Error(err)
		}
	}
}

// A document excuses its violations in the protocol that it names, until they are fixed.
func TestKnownOfDocument(t *testing.T) {
	load := func(name, known string) {
		t.Helper()
		text := "name: " + name + "\nprogram: none\nprotocols: [mqtt3, mqtt5]\nports: {mqtt: 1883}\ncommand: [none]\npromises: {protocol: its page}\nknown:\n" + known
		path := filepath.Join(t.TempDir(), "broker.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (cluster.Config{Broker: path}).Load(); err != nil {
			t.Fatal(err)
		}
	}
	load("known-test", "- {check: will/retained, protocol: mqtt5, what: forgets it, cite: issue 7, until: 1.2.0}\n")
	for version, want := range map[string]bool{"known-test 1.1.9": true, "known-test 1.2.0": false, "": true} {
		known, err := knownOf("known-test")
		has := slices.ContainsFunc(conformance.KnownIn(known, version), func(k conformance.Known) bool { return k.Name == "will/retained" && k.Version == conformance.V5 })
		if err != nil || has != want {
			t.Errorf("version %q: %v, %v, want it known: %v", version, known, err, want)
		}
	}
	load("misspelt-test", "- {check: will/retain, what: forgets it, cite: issue 7}\n")
	if _, err := knownOf("misspelt-test"); err == nil || !strings.Contains(err.Error(), `no check "will/retain" (did you mean will/retained?)`) {
		t.Errorf("a check that does not exist: %v", err)
	}
}
