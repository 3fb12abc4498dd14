package envelope

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
)

// load reads an envelope from text.
func load(t *testing.T, text string) (Envelope, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "envelope.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Read(file, "/state")
}

// Every refusal names the key, and the line where it came from a file.
func TestRefusals(t *testing.T) {
	const text = `# limits
max_nodes: 2
max_fault_duration_s: 20
max_concurrent_faults: 2
max_total_fault_s: 60
allow_majority: false
allowed_faults: ["kill", "upgrade"]
allowed_targets: ["leader"]
allowed_endpoints: ["broker:1883"]
allowed_images: ["img", "other:1"]
allowed_brokers: ["/brokers/a.yaml"]
push: ["/var/reports"]
allowed_versions: ["nats-server 2.14.4", "aedes"]
`
	e, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	destination := func(to string) error { _, err := e.Destination(to); return err }
	tests := map[string]struct {
		err  error
		want string // "" for allowed
	}{
		"nodes":           {e.Cluster(cluster.Config{Nodes: 3}), "max_nodes: 2 (line 2 of"},
		"experiments":     {e.Experiment(8), "max_experiments: 8 (the default"},
		"room for one":    {e.Experiment(7), ""},
		"jobs":            {e.Job(9), "max_experiments: 8"},
		"few nodes":       {e.Cluster(cluster.Config{Nodes: 2}), ""},
		"endpoint":        {e.Cluster(cluster.Config{Flavor: "external", Endpoints: []string{"prod:1883"}}), `allowed_endpoints does not name it (line 9 of`},
		"named endpoint":  {e.Cluster(cluster.Config{Flavor: "external", Endpoints: []string{"broker:1883"}}), ""},
		"binary":          {e.Cluster(cluster.Config{Binary: "/tmp/evil"}), `add "/tmp/evil" to`},
		"document":        {e.Cluster(cluster.Config{Broker: "/evil.yaml"}), "add \"/evil.yaml\" to `allowed_brokers`"},
		"only its text":   {e.Cluster(cluster.Config{Flavor: "mosquitto", Document: &cluster.Document{}}), "allowed_brokers"},
		"named document":  {e.Cluster(cluster.Config{Broker: "/brokers/a.yaml"}), ""},
		"another text":    {e.Cluster(cluster.Config{Broker: "/brokers/a.yaml", Document: &cluster.Document{}}), "/brokers/a.yaml"},
		"version":         {e.Cluster(cluster.Config{Flavor: "nats-server", Version: "2.14.3"}), "add \"nats-server 2.14.3\" to `allowed_versions`"},
		"named version":   {e.Cluster(cluster.Config{Flavor: "nats-server", Version: "v2.14.4"}), ""},
		"any version":     {e.Cluster(cluster.Config{Flavor: "aedes", Version: "1.2.0"}), ""},
		"runtime":         {e.Cluster(cluster.Config{Runtime: "vm"}), "allowed_runtimes"},
		"image":           {e.Cluster(cluster.Config{Runtime: "docker", Image: "evil:1"}), "allowed_images does not name it (line 10"},
		"image by name":   {e.Cluster(cluster.Config{Runtime: "docker", Image: "img:7"}), ""},
		"image by tag":    {e.Cluster(cluster.Config{Runtime: "docker", Image: "other:2"}), "allowed_images"},
		"setting":         {e.Cluster(cluster.Config{Flavor: "mosquitto", Settings: map[string]any{"sys_interval": "x\ny"}}), "expected a whole number from 0 to 65535. Nothing was changed"},
		"fault":           {e.Fault(Fault{Type: "pause"}), "allowed_faults does not name it (line 7"},
		"target":          {e.Fault(Fault{Type: "kill", Targets: []string{"leader", "node-2"}}), `target "node-2" (allowed: leader)`},
		"duration":        {e.Fault(Fault{Type: "kill", Duration: 21 * time.Second}), "max_fault_duration_s: 20 (line 3"},
		"other version":   {e.Fault(Fault{Type: "upgrade", Params: map[string]any{"binary": "/b"}}), "allowed_binaries"},
		"fine":            {e.Fault(Fault{Type: "kill", Targets: []string{"leader"}, Duration: 20 * time.Second}), ""},
		"at once":         {e.Load(Load{Concurrent: 3, Nodes: 3}), "max_concurrent_faults: 2 (line 4"},
		"together":        {e.Load(Load{Concurrent: 1, Total: 61 * time.Second, Nodes: 3}), "max_total_fault_s: 60 (line 5"},
		"majority":        {e.Load(Load{Concurrent: 1, Nodes: 3, Under: []string{"node-1", "node-2"}}), "node-1, node-2 are 2 of 3 nodes, a majority: the operator's envelope has allow_majority: false (line 6"},
		"half":            {e.Load(Load{Concurrent: 1, Nodes: 4, Under: []string{"node-1", "node-2"}}), ""},
		"push elsewhere":  {destination("github:a/b"), `add "github:a/b" to`},
		"push below":      {destination("/var/reports/x"), ""},
		"push way out":    {destination("/var/reports/../x"), "push"},
		"push out, blank": {destination("/var/reports/.. "), "push"},
		"container":       {e.External([]string{"prod"}, nil, nil), "allowed_containers"},
		"pod":             {e.External(nil, nil, []string{"prod/broker-0"}), "add \"prod/broker-0\" to `allowed_pods`"},
		"process":         {e.External(nil, []int{7}, nil), "add 7 to `allowed_pids`"},
		"default's line":  {e.Cluster(cluster.Config{Flavor: "kafka"}), "the default, as " + e.File + " does not set it"},
		"without a file":  {Default("/state").Cluster(cluster.Config{Nodes: 6}), "--envelope FILE"},
		"default is all":  {Default("/state").Fault(Fault{Type: "anything", Targets: []string{"majority"}, Duration: time.Minute}), ""},
		"default is ours": {Default("/state").External([]string{"prod"}, nil, nil), "allowed_containers"},
	}
	for name, test := range tests {
		switch {
		case test.want == "" && test.err != nil:
			t.Errorf("%s: %v", name, test.err)
		case test.want != "" && (test.err == nil || !strings.Contains(test.err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", name, test.err, test.want)
		}
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"max_nodes: 2\nmax_node: 1\n":  `line 2: no key "max_node"`,
		"faults:\n  allowed: 3\n":      "no key",
		"max_nodes: \"two\"\n":         "line 1",
		"max_nodes:\n":                 "line 1: max_nodes has no value",
		"max_nodes: 2\nmax_nodes: 3\n": "line 2",
		"max_nodes: [\n":               "line 1",
		"- max_nodes\n":                "line 1",
		"\nmax_concurrent_faults: 0\n": "max_concurrent_faults must be above 0, in line 2",
	} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.yaml"), ""); err == nil {
		t.Error("a file that is not there")
	}
}

// The example in the docs has every key, and its values are the defaults.
func TestExample(t *testing.T) {
	t.Setenv("RMQ_ROBUSTMQ_BIN", "")
	file := filepath.Join("..", "..", "docs", "envelope.yaml")
	e, err := Read(file, "/state")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeOf(e)
	for i := range fields.NumField() {
		key := fields.Field(i).Tag.Get("yaml")
		if key != "-" && !strings.Contains(string(text), "\n"+key+": ") && !strings.Contains(string(text), "\n# "+key+": ") {
			t.Errorf("docs/envelope.yaml has no %s", key)
		}
	}
	e.File, e.Lines = "", nil
	e.AllowedBrokers, e.AllowedVersions, e.AllowedImages, e.AllowedEndpoints, e.AllowedContainers, e.AllowedPIDs, e.AllowedPods = nil, nil, nil, nil, nil, nil, nil
	if want := Default("/state"); !reflect.DeepEqual(e, want) {
		t.Errorf("docs/envelope.yaml is %+v, and the default %+v", e, want)
	}
}
