package cluster

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// broker is a document of the embedded broker.
const broker = `name: in-test
program: none
protocols: [mqtt3]
ports: {mqtt: 1883, nats: 4222, cluster: 6222, http: 8222}
command: ["{{.program}}", node, -config, "{{.dir}}/conf/node.json"]
environment: {RMQ_TEST_NODE: "{{.node}}"}
files:
  conf/node.json: |
    {"name": "{{.node}}", "host": "{{.host}}", "dir": "{{.data}}", "replicas": 1, "ack_wait_ms": {{.set.ack_wait_ms}},
     "mqtt_port": {{.port.mqtt}}, "nats_port": {{.port.nats}}, "cluster_port": {{.port.cluster}}, "http_port": {{.port.http}}}
ready: {page: /status}
version: {command: ["{{.program}}", version], match: '^version (\S+)'}
settings:
  ack_wait_ms: {default: 30000, tested: 5000, least: 1, most: 60000}
limits: {queue: "{{.set.ack_wait_ms}}", session_s: 60, message_s: 0}
promises: {protocol: its own page, sessions: its own page}
not_promised: {durability: its own page}
`

// A broker that a document describes is started, killed, started again and stopped as
// any other.
func TestDescribedBroker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broker.yaml")
	if err := os.WriteFile(path, []byte(broker), 0o644); err != nil {
		t.Fatal(err)
	}
	config, err := Config{Broker: path, Flavor: CommandFlavor, Binary: self(t)[0], Settings: map[string]any{"ack_wait_ms": 7000.0}}.Load()
	if err != nil {
		t.Fatal(err)
	}
	ctx, c := startCluster(t, config)
	n, info := c.Nodes()[0], c.Info()
	if info.Flavor != "in-test" || info.Version != "in-test 1.2.3" || info.Queue != 7000 || info.SessionS != 60 || len(info.Lacks) != 0 ||
		info.Config["ack_wait_ms"] != 7000 || info.Differs["ack_wait_ms"] != "30000 → 7000" || len(info.BinarySHA) != 64 {
		t.Errorf("info is %+v", info)
	}
	if got := strings.Join(c.Promises(), " "); got != "protocol sessions" {
		t.Errorf("its promises are %s", got)
	}
	checkFigures(t, ctx, n, "process_memory_bytes")
	set(t, ctx, n, "killed")
	wantState(t, n, history.StateKilled)
	if err := n.Launch("", map[string]any{"ack_wait_ms": 9000}); err != nil {
		t.Error(err)
	}
	set(t, ctx, n, "running")
	if text, err := os.ReadFile(filepath.Join(n.dir, "conf", "node.json")); err != nil || !strings.Contains(string(text), `"ack_wait_ms": 9000`) {
		t.Errorf("it was started again with %s, %v", text, err)
	}
	set(t, ctx, n, "stopped")
	wantState(t, n, "exited: status 0")
}

// A command whose child is the broker is refused: a fault would act on the command alone.
func TestDescribedBrokerBehindItsCommand(t *testing.T) {
	note := filepath.Join(t.TempDir(), "pid")
	text := strings.NewReplacer(`["{{.program}}", node,`, `[sh, -c, '"$0" "$@" & echo $! > `+note+`; wait', "{{.program}}", node,`, "in-test", "behind-test").Replace(broker)
	t.Cleanup(func() { // the child outlives its shell
		if pid, err := os.ReadFile(note); err == nil {
			exec.Command("kill", "-9", strings.TrimSpace(string(pid))).Run()
		}
	})
	config, err := Config{Document: &Document{text: text}, Binary: self(t)[0]}.Load()
	if err != nil {
		t.Fatal(err)
	}
	if err := listens(os.Getpid(), "127.0.0.1:1"); err == nil {
		hosttest.Skip(t, "this system does not tell who listens")
	}
	if c, err := Start(t.Context(), optionsFor(t, config)); err == nil || !strings.Contains(err.Error(), "in a script use exec") {
		t.Errorf("a broker behind its command: %v", err)
		if c != nil {
			c.Kill()
		}
	}
}

// The program of a document is found in the PATH, and a missing one comes with the next step.
func TestProgramOfDocument(t *testing.T) {
	t.Setenv("RMQ_RMQTT_BIN", "")
	t.Setenv("PATH", t.TempDir())
	check := func() (Config, error) { return Check(Config{Flavor: "rmqtt"}) }
	if c, err := check(); err == nil || !strings.Contains(err.Error(), "install it (cargo install rmqttd), or set binary or RMQ_RMQTT_BIN") {
		t.Errorf("without the program it runs %q, error %v", c.Binary, err)
	}
	program := filepath.Join(os.Getenv("PATH"), "rmqttd")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if c, err := check(); err != nil || c.Binary != program {
		t.Errorf("with %s in the PATH it runs %q, error %v", program, c.Binary, err)
	}
}

// A configuration takes its document along, and whoever reads it knows the flavor.
func TestDocumentTravels(t *testing.T) {
	d := &Document{text: strings.ReplaceAll(broker, "in-test", "travel-test")}
	text, err := json.Marshal(Config{Flavor: "travel-test", Broker: "/brokers/travel.yaml", Document: d})
	if err != nil {
		t.Fatal(err)
	}
	var config Config
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	if f := FlavorNamed("travel-test"); f.broker != nil || config.Document.Name != "" {
		t.Fatal("the text of a stranger was read before somebody asked for it")
	}
	if config, err = config.Load(); err != nil {
		t.Fatal(err)
	}
	f := FlavorNamed("travel-test")
	if name, file := f.Flag(); f.broker == nil || !f.OwnSize || name != "broker" || file != "travel.yaml" || config.Document.SHA() != d.SHA() {
		t.Errorf("flavor %+v, asked for by %s %s, of document %s, want %s", f, name, file, config.Document.SHA(), d.SHA())
	}
	if c := config.As("reference"); c.Document != nil || c.Flavor != "reference" {
		t.Errorf("as another flavor it is %+v", c)
	}
}

// A document that cannot be right is refused before anything starts, in words.
func TestBadDocuments(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"name: in-test", "name: In Test", `name "In Test": valid are 2 to 32 small letters`},
		{"name: in-test", "name: mosquitto", `"mosquitto" is a flavor of rmq-mcp`},
		{"name: in-test", "name: nats-server", `"nats-server" is a flavor of rmq-mcp`},
		{"name: in-test", "name: command", "stands for every described broker"},
		{"program: none\n", "", "program is missing"},
		{"protocols: [mqtt3]", "protocols: [mqtt4]", `"mqtt4" is not mqtt3 or mqtt5`},
		{"protocols: [mqtt3]\n", "", "protocols is missing"},
		{"mqtt: 1883, ", "", "mqtt is missing"},
		{"mqtt: 1883", "mqtt: 70000", "mqtt is 70000; valid are 1 to 65535"},
		{"{{.port.mqtt}}", "{{.port.mqt}}", `no entry for key "mqt"`},
		{"{{.port.mqtt}}", "{{.port.mqtt}", "conf/node.json: line 2: bad character"},
		{"{{.node}}\"}", "{{.name}}\"}", `no entry for key "name"`},
		{"conf/node.json:", "../node.json:", "must be a path below the node's directory"},
		{"page: /status", "page: status", "must be a path such as /health"},
		{"http: 8222", "web: 8222", "on a port named http"},
		{"version: {command", "version: {comand", `no key "comand"`},
		{`(\S+)`, `(\S+`, "missing closing )"},
		{`(\S+)`, `\S+`, "0 groups; one group holds the version"},
		{"tested: 5000", "tested: 90000", "expected a whole number from 1 to 60000"},
		{"default: 30000", "default: soon", "must be true, false or a whole number"},
		{"ack_wait_ms: {default", "admin_password: {default", "is the name of a secret"},
		{"sessions: its", "session: its", `no "session" (did you mean sessions?); there are`},
		{"sessions: its own page", `sessions: ""`, "sessions has no place"},
		{"protocol: its own page, ", "", "protocol is missing"},
		{"session_s: 60,", "session_s: soon,", `session_s is "soon"`},
		{"name: in-test", "name: in-test\nnodes: 9", "nodes is 9; valid are 1 to 5"},
		{"name: in-test", "name: in-test\nabout: 'password=hunter2'", "line 2 holds a secret"},
		{"message_s: 0", "message_s: -1", `message_s is "-1"`},
		{"conf/node.json:", "data/node.json:", "not in data or disk"},
		{"ready: {page", "ready: {within_s: .nan, page", "within_s is NaN"},
		{"not_promised: {", "not_promised: {sessions: x, ", "sessions is in not_promised too"},
		{"name: in-test", "name: in-test\nknown: [{check: will/retained, what: forgets it}]", "number 1 needs a check, what the broker does, and cite"},
		{"name: in-test", "name: in-test\nknown: [{check: a/b, what: c, cite: d, protocol: mqtt5}]", `protocol "mqtt5" is none of the broker's`},
		{"name: in-test", "name: in-test\nknown: [{check: a/b, what: c, cite: d, until: soon}]", `until "soon" is no version`},
		{"program: none", "program: none\npackage: {registry: cpan, name: a, program: a}", `package: no registry "cpan"`},
	} {
		text := strings.Replace(broker, c.old, c.new, 1)
		if text == broker {
			t.Fatalf("%q is not in the document", c.old)
		}
		if _, err := describe(text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %q: error %v, want %q in it", c.new, err, c.want)
		}
	}
	if _, err := (Config{Broker: filepath.Join(t.TempDir(), "none.yaml")}).Load(); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a document that is not there: %v", err)
	}
	if _, err := (Config{Flavor: CommandFlavor}).Load(); err == nil || !strings.Contains(err.Error(), "--broker FILE") {
		t.Errorf("no document: %v", err)
	}
}

// The documents that come with the program find the version in what each broker prints.
func TestVersionsOfDocuments(t *testing.T) {
	for name, printed := range map[string]string{"rmqtt 0.24.0": "rmqtt/0.24.0-20261130120756 rustc/1.95.0\n", "nats-server 2.15.1": "nats-server: v2.15.1\n", "aedes 1.2.0": "1.2.0\n", "amqtt 0.11.4": "0.11.4\n", "artemis 2.55.0": "artemis-selector-2.55.0.jar\nartemis-server-2.55.0.jar\n", "hivemq-ce 2025.5": "hivemq-community-edition-embedded-2025.5.jar\n", "mochi 2.7.9": "level=INFO msg=\"mochi mqtt starting\" version=2.7.9\n", "moquette 0.17": "Server started, version 0.17\n"} {
		flavor, _, _ := strings.Cut(name, " ")
		if got := (commanded{FlavorNamed(flavor).Document}).named([]byte(printed)); got != name {
			t.Errorf("%q says %q, want %s", printed, got, name)
		}
	}
}
