package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/broker/registry"
)

// A Document describes a broker in YAML: the command of its nodes, their listeners and
// files, and the promises of its vendor. Its JSON form is its text, unread until [Config.Load]:
// a stored run may be a stranger's.
//
// The command, the files, the environment, the version's command and the limits are
// templates (text/template) over these values:
//
//	node, number    name and number of the node: node-2, 2
//	host            the address to listen at
//	port            the ports by service, as {{.port.mqtt}}; 0 for a transport without a listener
//	dir, data       the directories of the node and of its data
//	program         the path of the broker's program
//	home            the user's home directory
//	set             the settings by key
//	cert, key, ca   files for TLS, "" without a listener of TLS
//	peers           every node, with its node, number, host and port
type Document struct {
	Name        string                     `yaml:"name"`
	Title       string                     `yaml:"title"`
	About       string                     `yaml:"about"`
	Install     string                     `yaml:"install"`
	Program     string                     `yaml:"program"`   // of PATH, or a path from the document's folder; RMQ_<NAME>_BIN and --binary name another
	Package     registry.Package           `yaml:"package"`   // for --broker-version
	SameAs      string                     `yaml:"same_as"`   // a flavor that is the same broker
	Protocols   []string                   `yaml:"protocols"` // mqtt3, mqtt5
	Nodes       int                        `yaml:"nodes"`     // at most; 0 is 1
	NoSharing   string                     `yaml:"no_sharing"`
	Reorders    bool                       `yaml:"reorders"`
	Ports       map[string]int             `yaml:"ports"` // usual ones by service: mqtt, mqtts, ws, wss, http, and others of its own
	Command     []string                   `yaml:"command"`
	Environment map[string]string          `yaml:"environment"`
	Files       map[string]string          `yaml:"files"` // below dir, by path
	Ready       DocumentReady              `yaml:"ready"`
	StopS       float64                    `yaml:"stop_within_s"` // after SIGTERM; 0 is 30
	Version     DocumentVersion            `yaml:"version"`
	Settings    map[string]DocumentSetting `yaml:"settings"`
	Limits      DocumentLimits             `yaml:"limits"`
	Promises    map[string]string          `yaml:"promises"`     // by name, with the place that makes it
	NotPromised map[string]string          `yaml:"not_promised"` // likewise, of those that the vendor does not make
	Known       []DocumentKnown            `yaml:"known"`

	text string
	file string // its path; "" if it came with the program
}

// DocumentReady is when a node serves: a client is accepted, and before that a page on
// its port http answers 200.
type DocumentReady struct {
	Page    string  `yaml:"page"`
	WithinS float64 `yaml:"within_s"` // of its start; 0 is 60
}

// DocumentVersion finds the version in the output of a command, or without a command in the
// log of a node.
type DocumentVersion struct {
	Command []string `yaml:"command"`
	Match   string   `yaml:"match"` // a regular expression with one group
}

// DocumentSetting is a key of the broker's own configuration that may be set.
type DocumentSetting struct {
	Default any  `yaml:"default"` // the vendor's: true, false or a whole number
	Tested  any  `yaml:"tested"`  // that of the profile tested, if it is another
	Least   int  `yaml:"least"`
	Most    *int `yaml:"most"`
}

// DocumentLimits are whole numbers, or templates of them. Without all but in_flight the
// limits of the broker are not known.
type DocumentLimits struct {
	Queue    string `yaml:"queue"`     // messages of QoS 1 and 2 that a node keeps for a session; 0: no limit, -1: a limit in bytes
	InFlight string `yaml:"in_flight"` // messages of QoS 1 and 2 on their way to a client at once
	SessionS string `yaml:"session_s"` // how long the session of an absent MQTT 3.1.1 client is kept; 0: for ever
	MessageS string `yaml:"message_s"` // how long a message waits for an absent client; 0: for ever
}

// DocumentKnown is a violation of the protocol that the broker is known for. Conformance
// counts it apart.
type DocumentKnown struct {
	Check    string `yaml:"check"`    // of conformance that finds it: will/retained
	Protocol string `yaml:"protocol"` // mqtt3, mqtt5; "" for both
	What     string `yaml:"what"`     // the broker does
	Cite     string `yaml:"cite"`     // the report, or the place in the broker's code
	Until    string `yaml:"until"`    // the first version without it; "" if there is none
}

// The longest document, in bytes, and the longest time of one, in seconds.
const (
	mostDocument = 64 << 10
	mostWaitS    = 3600
)

// DocumentText reads the text of a document from a file.
func DocumentText(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%s is no file", path)
	case err == nil && info.Size() > mostDocument:
		err = fmt.Errorf("%s has %d bytes, and a document has at most %d", path, info.Size(), mostDocument)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("read the document of a broker: %w", err)
	}
	return string(text), nil
}

// Load reads the document of a configuration, or the file named as its broker, and takes
// the document's flavor. It makes that known to this process.
func (c Config) Load() (Config, error) {
	if c.Document == nil && c.Broker == "" {
		if c.Flavor == CommandFlavor {
			return c, errors.New("flavor command needs the document of a broker: give --broker FILE, or broker of the config")
		}
		return c, nil
	}
	path, err := filepath.Abs(c.Broker)
	if err != nil {
		return c, fmt.Errorf("find %s: %w", c.Broker, err)
	}
	d := c.Document
	if d == nil {
		text, err := DocumentText(path)
		if err != nil {
			return c, err
		}
		d = &Document{text: text}
	}
	if d.Name == "" {
		if d, err = describe(d.text); err != nil {
			return c, fmt.Errorf("read the document of a broker, %s: %w", path, err)
		}
		d.file = path
		described.Store(d.Name, d.flavor())
	}
	if c.Flavor != "" && c.Flavor != CommandFlavor && c.Flavor != d.Name {
		return c, fmt.Errorf("flavor %s, and %s describes %s; leave one of them out", c.Flavor, c.Broker, d.Name)
	}
	c.Broker, c.Document, c.Flavor = path, d, d.Name
	return c, nil
}

// As is the configuration for another flavor, without the document of one that differs.
func (c Config) As(flavor string) Config {
	c.Flavor = ""
	if read, err := c.Load(); err == nil { // of a stored plan it was not read yet
		c = read
	}
	c.Flavor = flavor
	if c.Document != nil && c.Document.Name != flavor {
		c.Broker, c.Document = "", nil
	}
	return c
}

// describe reads a document that does not come with the program.
func describe(text string) (*Document, error) {
	d, err := parseDocument([]byte(text))
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(builtin(), func(f Flavor) bool { return f.Name == d.Name }) {
		return nil, fmt.Errorf("name %q is a flavor of rmq-mcp; choose another name", d.Name)
	}
	return d, nil
}

// Text is the document as it was written, and SHA its SHA-256.
func (d *Document) Text() string { return d.text }

func (d *Document) SHA() string {
	sum := sha256.Sum256([]byte(d.text))
	return hex.EncodeToString(sum[:])
}

func (d *Document) MarshalJSON() ([]byte, error) { return json.Marshal(d.text) }

func (d *Document) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &d.text) }

// most is how many nodes there can be.
func (d *Document) most() int { return max(d.Nodes, 1) }

// transports are those that nodes can listen on, besides tcp.
func (d *Document) transports() []string {
	return slices.DeleteFunc(Transports()[1:], func(t string) bool { return d.Ports[service(t)] == 0 })
}

// listeners are the ports to ask for: all but those of transports without a listener.
func (d *Document) listeners(transports []string) map[string]int {
	ports := maps.Clone(d.Ports)
	for _, t := range Transports()[1:] {
		if !slices.Contains(transports, t) {
			delete(ports, service(t))
		}
	}
	return ports
}

func (d *Document) settings() flavorSettings {
	settings := flavorSettings{}
	for key, s := range d.Settings {
		most := mostExact
		if s.Most != nil {
			most = *s.Most
		}
		settings[key] = setting{vendor: s.Default, least: s.Least, most: most}
	}
	return settings
}

// tested are the settings of the profile tested that differ from the vendor's.
func (d *Document) tested() map[string]any {
	values := map[string]any{}
	for key, s := range d.Settings {
		if s.Tested != nil {
			values[key] = s.Tested
		}
	}
	return values
}

// effective is the configuration by the broker's own keys.
func (d *Document) effective(profile string, given map[string]any) map[string]any {
	keys := d.settings().vendors()
	if profile == ProfileTested {
		keys = merged(keys, d.tested())
	}
	return merged(keys, given)
}
