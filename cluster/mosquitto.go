package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mosquitto is one node with the configuration that Debian ships, which is
// persistence on and saved every half hour: it loses what it acknowledged when
// it is killed, and says so in its documentation. That makes it the tester's
// first negative control.
type mosquitto struct{}

// mosquittoDefaults are the directives that may be set, with the vendor's
// values. Those that name files or load code are not among them.
func mosquittoDefaults() map[string]any {
	return map[string]any{
		"autosave_interval": 1800, "autosave_on_changes": false, "max_queued_messages": 1000,
		"max_queued_bytes": 0, "max_inflight_messages": 20, "max_inflight_bytes": 0,
		"queue_qos0_messages": false, "retain_available": true, "max_keepalive": 65535,
		"set_tcp_nodelay": false, "upgrade_outgoing_qos": false,
		"persistence": true, "sys_interval": 10,
	}
}

func (mosquitto) check(config Config) (Config, error) {
	if config.Nodes == 0 {
		config.Nodes = 1
	}
	if config.Nodes != 1 {
		return config, fmt.Errorf("mosquitto has no clusters; leave nodes out or set it to 1, not %d", config.Nodes)
	}
	if err := findBinary(&config, "", "mosquitto", "/usr/sbin/mosquitto"); err != nil {
		return config, fmt.Errorf("%w; install Debian's package mosquitto, or set binary", err)
	}
	var known []string
	for key := range mosquittoDefaults() {
		known = append(known, key)
	}
	return config, checkSettings(config, known)
}

func (m mosquitto) plan(opts Options) (*plan, error) {
	version, err := mosquittoVersion(opts.Config.Binary)
	if err != nil {
		return nil, err
	}
	host, err := opts.Network.Host("node-1")
	if err != nil {
		return nil, err
	}
	ports, err := portsOf(host, map[string]int{"mqtt": 1883})
	if err != nil {
		return nil, err
	}
	n, err := newNode(opts, host, ports)
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(n.dir, "mosquitto.conf")
	n.argv = []string{opts.Config.Binary, "-c", conf}
	n.version, n.restartBound, n.stopBound = version, 20*time.Second, 10*time.Second
	p := &plan{
		nodes: []*Node{n}, version: version, binary: opts.Config.Binary, startBound: 20 * time.Second, leaderBound: time.Second,
		config: mosquittoDefaults(), differs: map[string]string{}, promises: mosquittoPromises(),
	}
	if opts.Config.Profile == ProfileTested {
		p.config["max_queued_messages"] = 0 // no limit: the vendor's drops what it acknowledged, silently
	}
	for key, value := range opts.Config.Settings {
		p.config[key] = value
	}
	differs(p.differs, p.config, mosquittoDefaults())
	return p, m.write(conf, n, p.config)
}

// write writes mosquitto.conf and makes the directory that it persists to.
func (mosquitto) write(path string, n *Node, config map[string]any) error {
	data := filepath.Join(n.dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("make the data directory of %s: %w", n.name, err)
	}
	lines := []string{
		fmt.Sprintf("listener %d %s", n.ports["mqtt"], n.Address()),
		"allow_anonymous true",
		"persistence_location " + data + "/",
		"log_dest stdout",
		"log_timestamp_format %Y-%m-%dT%H:%M:%S%z",
	}
	if os.Geteuid() == 0 {
		lines = append(lines, "user root") // it would change to a user who cannot write our files
	}
	for key, value := range config {
		lines = append(lines, fmt.Sprintf("%s %v", key, value))
	}
	slices.Sort(lines[1:]) // the listener comes first
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("write node configuration: %w", err)
	}
	return nil
}

func (mosquitto) ready(ctx context.Context, _ *plan, n *Node, _ bool) error {
	_, err := n.Probe(ctx)
	return err
}

func (mosquitto) leader(context.Context, *plan, string) (string, error) { return "node-1", nil }

// mosquittoVersion asks the binary for its help, whose first line names it.
func mosquittoVersion(binary string) (string, error) {
	out, err := exec.Command(binary, "-h").CombinedOutput()
	match := regexp.MustCompile(`mosquitto version (\S+)`).FindSubmatch(out)
	if match == nil {
		return "", fmt.Errorf("%s does not say which version of mosquitto it is (%v); set binary", binary, err)
	}
	return "mosquitto " + string(match[1]), nil
}
