package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// registryModule has the schemas of the MCP registry.
const registryModule = "github.com/modelcontextprotocol/registry@v1.8.9"

// The entry of the MCP registry is as the registry's own schema has it, and names the image
// that a release makes.
func TestServerJSON(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	var entry struct {
		Schema   string `json:"$schema"`
		Name     string
		Version  string
		Packages []struct{ RegistryType, Identifier string }
	}
	if err := json.Unmarshal(text, &entry); err != nil {
		t.Fatal(err)
	}
	date := filepath.Base(filepath.Dir(entry.Schema))
	out, err := exec.Command("go", "mod", "download", "-json", registryModule).Output()
	if err != nil {
		t.Fatalf("download %s: %v\n%s", registryModule, err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(module.Dir, "internal", "validators", "schemas", date+".json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Error(err)
	}
	release, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	image, version, _ := strings.Cut(entry.Packages[0].Identifier, ":")
	for _, want := range []string{"images: [" + image + "]", "io.modelcontextprotocol.server.name: " + entry.Name} {
		if !strings.Contains(string(release), want) {
			t.Errorf("a release has no %q", want)
		}
	}
	if version != entry.Version {
		t.Errorf("the image is of version %s, the entry of %s", version, entry.Version)
	}
}
