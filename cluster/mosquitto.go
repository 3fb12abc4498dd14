package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/certificate"
	"github.com/robustmq/rmq-mcp/internal/environ"
)

// mosquittoFlavor is Eclipse Mosquitto.
func mosquittoFlavor() Flavor {
	return Flavor{
		Name: "mosquitto", Title: "mosquitto", Protocols: []string{contract.MQTT3, contract.MQTT5},
		Forgets: true, // persistence is a snapshot
		Queue: func(c Config) int {
			_, c, err := named(c)
			if err != nil {
				return 0
			}
			keys, err := mosquitto{}.effective(Config{Nodes: 1, Profile: c.Profile, Settings: c.Settings})
			if err != nil {
				return 0
			}
			return mosquittoQueue(keys)
		},
		Control: []string{contract.MQTT3, contract.MQTT5},
		Pace:    Pace{SettleS: 3, SteadyS: 3, AfterS: 4, DrainS: 30, RecoveryS: 30},
		OwnSize: true,
		Program: "mosquitto", Install: "apt-get install mosquitto, or brew install mosquitto",
		broker: mosquitto{},
	}
}

// mosquitto is one node with the configuration that Debian ships: persistence is
// on and saved every half hour. It loses acknowledged messages when it is killed,
// and says so in its documentation. That makes it the tester's first negative
// control.
type mosquitto struct{}

// settings are the directives that may be set, with the ranges of
// mosquitto.conf(5); a C int where that has none.
func (mosquitto) settings() flavorSettings {
	return flavorSettings{
		"autosave_interval": count(1800, 0, math.MaxInt32), "autosave_on_changes": flag(false),
		"max_queued_messages": count(1000, 0, math.MaxInt32), "max_queued_bytes": count(0, 0, math.MaxInt32),
		"max_inflight_messages": count(20, 0, math.MaxUint16), "max_inflight_bytes": count(0, 0, math.MaxInt32),
		"queue_qos0_messages": flag(false), "retain_available": flag(true),
		"max_keepalive": count(65535, 0, math.MaxUint16), "sys_interval": count(10, 0, math.MaxUint16),
		"set_tcp_nodelay": flag(false), "upgrade_outgoing_qos": flag(false), "persistence": flag(false),
	}
}

func (m mosquitto) check(config Config) (Config, error) {
	if config.Nodes == 0 {
		config.Nodes = 1
	}
	if _, err := m.effective(config); err != nil || config.Imaged() {
		return config, err
	}
	if err := findBinary(&config, "", "mosquitto", "/usr/sbin/mosquitto"); err != nil {
		return config, fmt.Errorf("%w; install Debian's package mosquitto, or set binary", err)
	}
	return config, nil
}

// effective is the vendor's configuration with what the profile and the settings
// change.
func (m mosquitto) effective(config Config) (map[string]any, error) {
	if config.Nodes != 1 {
		return nil, fmt.Errorf("mosquitto has no clusters; leave nodes out or set it to 1, not %d", config.Nodes)
	}
	keys := m.settings().vendors()
	keys["persistence"] = true // as the configuration of Debian's package has it
	if config.Profile == ProfileTested {
		keys["max_queued_messages"] = 0 // no limit: the vendor's drops what it acknowledged, silently
	}
	return merged(keys, config.Settings), nil
}

func (m mosquitto) plan(opts Options) (*plan, error) {
	version, err := "", error(nil)
	if !opts.Config.Imaged() { // there its log says
		if version, err = mosquittoVersion(opts.Config.Binary); err != nil {
			return nil, err
		}
	}
	host, err := opts.Network.Host("node-1")
	if err != nil {
		return nil, err
	}
	ports, err := portsOf(host, opts.Config.listeners(map[string]int{"mqtt": 1883}))
	if err != nil {
		return nil, err
	}
	n, err := newNode(opts, host, ports)
	if err != nil {
		return nil, err
	}
	n.data = filepath.Join(n.dir, "data")
	conf := filepath.Join(n.dir, "mosquitto.conf")
	n.argv = []string{opts.Config.Binary, "-c", conf}
	n.version, n.restartBound, n.stopBound = version, time.Minute, 30*time.Second
	config, err := m.effective(opts.Config)
	if err != nil {
		return nil, err
	}
	p := &plan{
		nodes: []*Node{n}, version: version, binary: opts.Config.Binary, startBound: time.Minute, leaderBound: time.Second,
		config: config, differs: map[string]string{}, promises: mosquittoPromises(),
	}
	var certs certificate.Files
	if opts.Config.secure() {
		if certs, err = p.certify(opts); err != nil {
			return nil, err
		}
	}
	p.queue = mosquittoQueue(config)
	p.inFlight, _ = config["max_inflight_messages"].(int)
	differs(p.differs, p.config, m.settings().vendors())
	n.setup = func(binary string, settings map[string]any) error {
		n.from(cmp.Or(binary, p.binary))
		return m.write(conf, n, certs, merged(p.config, settings))
	}
	return p, n.setup("", nil)
}

// mosquittoQueue is how many messages of QoS 1 and 2 it keeps for a session that is
// away (mosquitto.conf(5), max_queued_messages); 0: no limit. For one that is there it
// keeps as many beside those in flight. A limit in bytes (max_queued_bytes) is reached by
// any number of messages.
func mosquittoQueue(config map[string]any) int {
	if bytes, _ := config["max_queued_bytes"].(int); bytes > 0 {
		return history.UnknownQueue
	}
	queued, _ := config["max_queued_messages"].(int)
	return queued
}

// write writes mosquitto.conf and makes the directory that it persists to.
func (m mosquitto) write(path string, n *Node, certs certificate.Files, config map[string]any) error {
	data := n.data
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("make the data directory of %s: %w", n.name, err)
	}
	lines := []string{
		fmt.Sprintf("listener %d %s", n.ports["mqtt"], n.Address()),
		"allow_anonymous true",
		"persistence_location " + data + "/",
		"log_dest stderr", // which it does not buffer,
		"log_timestamp_format %Y-%m-%dT%H:%M:%S%z",
	}
	if os.Geteuid() == 0 {
		lines = append(lines, "user root") // it would change to a user who cannot write our files
	}
	for key, value := range config {
		lines = append(lines, fmt.Sprintf("%s %v", key, value))
	}
	slices.Sort(lines[1:]) // the listener comes first
	lines = append(lines, m.listeners(n, certs)...)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("write node configuration: %w", err)
	}
	return nil
}

// listeners returns the lines of the listeners after the first. The lines that
// follow a listener's line apply to that listener.
func (mosquitto) listeners(n *Node, certs certificate.Files) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(servicePorts())) {
		port, ok := n.ports[name]
		if !ok {
			continue
		}
		lines = append(lines, fmt.Sprintf("listener %d %s", port, n.Address()))
		if name != service(transportTLS) {
			lines = append(lines, "protocol websockets")
		}
		if name != transportWS {
			lines = append(lines, "certfile "+certs.Cert, "keyfile "+certs.Key)
		}
	}
	return lines
}

func (mosquitto) ready(ctx context.Context, _ *plan, n *Node, _ bool) error {
	_, err := n.Probe(ctx)
	if err == nil && n.Version() == "" {
		log, _ := os.ReadFile(n.log)
		n.setVersion(mosquittoNamed(log))
	}
	return err
}

func (mosquitto) leader(context.Context, *plan, string) (string, error) { return "node-1", nil }

// mosquittoVersion asks the binary for its help, whose first line names it.
func mosquittoVersion(binary string) (string, error) {
	cmd := exec.Command(binary, "-h")
	cmd.Env = environ.Bare()
	out, err := cmd.CombinedOutput()
	version := mosquittoNamed(out)
	if version == "" {
		return "", fmt.Errorf("%s does not say which version of mosquitto it is (%v); set binary", binary, err)
	}
	return version, nil
}

// mosquittoNamed finds the version in what a mosquitto wrote; "" where it does
// not say.
func mosquittoNamed(text []byte) string {
	match := regexp.MustCompile(`mosquitto version (\S+)`).FindSubmatch(text)
	if match == nil {
		return ""
	}
	return "mosquitto " + string(match[1])
}

// mosquittoPromises leave out all that a crash takes: persistence is a
// snapshot, every half hour and at an orderly end (mosquitto.conf(5)). Shared
// subscriptions it has for every version of MQTT.
func mosquittoPromises() []string {
	return []string{history.PromiseProtocol, history.PromiseRecovery, history.PromiseOrder, history.PromiseExpiry, history.PromiseSharing}
}
