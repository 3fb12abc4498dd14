package cluster

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"golang.org/x/mod/semver"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/broker/registry"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/internal/yamlfile"
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

// parseDocument reads a document and checks all that it can before anything starts.
func parseDocument(text []byte) (*Document, error) {
	d := &Document{text: string(text)}
	if err := yamlfile.Decode(text, d); err != nil {
		return nil, err
	}
	for _, check := range []func() error{
		d.checkNames, d.checkPackage, d.checkPorts, d.checkSettings, d.checkPromises, d.checkKnown, d.checkNumbers, d.checkTemplates, d.checkSecrets,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// brokerName is what the name of a described broker may look like: it becomes part of
// paths, commands and the names of variables.
var brokerName = regexp.MustCompile(`^[a-z][a-z0-9-]{1,31}$`)

func (d *Document) checkNames() error {
	switch {
	case !brokerName.MatchString(d.Name):
		return fmt.Errorf("name %q: valid are 2 to 32 small letters, digits and hyphens, such as my-broker", d.Name)
	case d.Name == CommandFlavor:
		return fmt.Errorf("name %q stands for every described broker; choose another name", d.Name)
	case d.Program == "":
		return errors.New("program is missing: the name of the broker's program, such as mosquitto")
	case len(d.Command) == 0:
		return errors.New(`command is missing: the words of a node's command line, such as ["{{.program}}", "-c", "{{.dir}}/broker.conf"]`)
	case len(d.Protocols) == 0:
		return errors.New("protocols is missing: mqtt3, mqtt5 or both")
	}
	if d.SameAs != "" && !slices.ContainsFunc(coded(), func(f Flavor) bool { return f.Name == d.SameAs }) {
		return fmt.Errorf("same_as: %q is no flavor of rmq-mcp that has code of its own", d.SameAs)
	}
	for _, p := range d.Protocols {
		if p != contract.MQTT3 && p != contract.MQTT5 {
			return fmt.Errorf("protocols: %q is not mqtt3 or mqtt5", p)
		}
	}
	for path := range d.Files {
		first, _, _ := strings.Cut(filepath.ToSlash(filepath.Clean(path)), "/")
		if !filepath.IsLocal(path) || first == "data" || first == "disk" {
			return fmt.Errorf("files: %q must be a path below the node's directory, and not in data or disk", path)
		}
	}
	return nil
}

func (d *Document) checkPackage() error {
	if d.Package == (registry.Package{}) {
		return nil
	}
	if err := d.Package.Check(); err != nil {
		return fmt.Errorf("package: %w", err)
	}
	return nil
}

func (d *Document) checkPorts() error {
	if d.Ports["mqtt"] == 0 {
		return errors.New("ports: mqtt is missing, the listener for MQTT over TCP, such as 1883")
	}
	for service, port := range d.Ports {
		if port < 1 || port > 65535 {
			return fmt.Errorf("ports: %s is %d; valid are 1 to 65535", service, port)
		}
	}
	if d.Ready.Page != "" && (d.Ports["http"] == 0 || !strings.HasPrefix(d.Ready.Page, "/")) {
		return fmt.Errorf("ready: page %q must be a path such as /health, on a port named http", d.Ready.Page)
	}
	return nil
}

func (d *Document) checkSettings() error {
	settings := d.settings()
	for _, key := range slices.Sorted(maps.Keys(d.Settings)) {
		_, flag := d.Settings[key].Default.(bool)
		_, number := d.Settings[key].Default.(int)
		switch {
		case secret.Names(key):
			return fmt.Errorf("settings: %q is the name of a secret, and settings are recorded", key)
		case !flag && !number:
			return fmt.Errorf("settings: default of %s must be true, false or a whole number", key)
		}
	}
	if _, err := settings.typed(d.Name, settings.vendors()); err != nil {
		return fmt.Errorf("settings: default: %w", err)
	}
	if _, err := settings.typed(d.Name, d.tested()); err != nil {
		return fmt.Errorf("settings: tested: %w", err)
	}
	return nil
}

// promised are the promises that a broker of MQTT can make.
func promised() []string {
	return slices.DeleteFunc(history.Promises(), func(name string) bool { return name == history.PromiseMailboxes })
}

// unsaid are the promises missing in a document, among those that a crash breaks.
func (d *Document) unsaid() []string {
	return slices.DeleteFunc([]string{history.PromiseDurability, history.PromiseSessions}, func(name string) bool {
		return d.Promises[name]+d.NotPromised[name] != ""
	})
}

func (d *Document) checkPromises() error {
	for key, made := range map[string]map[string]string{"promises": d.Promises, "not_promised": d.NotPromised} {
		for _, name := range slices.Sorted(maps.Keys(made)) {
			if !slices.Contains(promised(), name) {
				return fmt.Errorf("%s: no %q%s; there are %s", key, name, near.Hint(name, promised(), ""), strings.Join(promised(), ", "))
			}
			if made[name] == "" {
				return fmt.Errorf("%s: %s has no place; say which page of the vendor has it", key, name)
			}
		}
	}
	for name := range d.NotPromised {
		if d.Promises[name] != "" {
			return fmt.Errorf("promises: %s is in not_promised too", name)
		}
	}
	if d.Promises[history.PromiseProtocol] == "" {
		return errors.New("promises: protocol is missing; say which page of the vendor names the protocol")
	}
	return nil
}

// checkKnown does not look for the checks: conformance has them.
func (d *Document) checkKnown() error {
	for i, k := range d.Known {
		switch {
		case k.Check == "" || k.What == "" || k.Cite == "":
			return fmt.Errorf("known: number %d needs a check, what the broker does, and cite, the report of it", i+1)
		case k.Protocol != "" && !slices.Contains(d.Protocols, k.Protocol):
			return fmt.Errorf("known: %s: protocol %q is none of the broker's", k.Check, k.Protocol)
		case k.Until != "" && !semver.IsValid("v"+k.Until):
			return fmt.Errorf("known: %s: until %q is no version, such as 1.2.0", k.Check, k.Until)
		}
	}
	return nil
}

func (d *Document) checkNumbers() error {
	if d.Nodes < 0 || d.Nodes > mostNodes {
		return fmt.Errorf("nodes is %d; valid are 1 to %d", d.Nodes, mostNodes)
	}
	for name, s := range map[string]float64{"ready: within_s": d.Ready.WithinS, "stop_within_s": d.StopS} {
		if !(s >= 0 && s <= mostWaitS) {
			return fmt.Errorf("%s is %v; valid are seconds from 0 to %d", name, s, mostWaitS)
		}
	}
	if d.Version.Match == "" {
		if len(d.Version.Command) > 0 {
			return errors.New(`version: match is missing, a regular expression with one group, such as "version (\\S+)"`)
		}
		return nil
	}
	form, err := regexp.Compile(d.Version.Match)
	if err != nil {
		return fmt.Errorf("version: match: %w", err)
	}
	if form.NumSubexp() != 1 {
		return fmt.Errorf("version: match %q has %d groups; one group holds the version", d.Version.Match, form.NumSubexp())
	}
	return nil
}

// checkTemplates renders every template for nodes that do not exist, without TLS and with it.
func (d *Document) checkTemplates() error {
	for _, transports := range [][]string{nil, d.transports()} {
		var peers []map[string]any
		for i, name := range nodeNames(d.most()) {
			peers = append(peers, peer(name, i+1, "198.18.0.1", d.listeners(transports)))
		}
		values := d.values(peers[0], peers, "/dir", "/program", d.effective(ProfileTested, nil))
		values["cert"], values["key"], values["ca"] = "/cert", "/key", "/ca"
		if err := d.renderAll(values); err != nil {
			return err
		}
	}
	return nil
}

// renderAll renders every template, for its errors.
func (d *Document) renderAll(values map[string]any) error {
	where := map[string][]string{"command": d.Command, "version: command": d.Version.Command}
	for key, text := range d.Environment {
		where["environment: "+key] = []string{text}
	}
	for path, text := range d.Files {
		where["files: "+path] = []string{text}
	}
	for _, name := range slices.Sorted(maps.Keys(where)) {
		if _, err := renderWords(where[name], values); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, limit := range d.Limits.byName() {
		if _, _, err := limit.number(values); err != nil {
			return err
		}
	}
	return nil
}

// checkSecrets refuses what a report must not show: a document is kept with each run.
func (d *Document) checkSecrets() error {
	for i, line := range strings.Split(d.text, "\n") {
		if secret.New().Text(line) != line {
			return fmt.Errorf("line %d holds a secret, and the document is kept with each run; let the broker take clients without a password", i+1)
		}
	}
	return nil
}

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

// peer is what a template knows of a node.
func peer(name string, number int, host string, ports map[string]int) map[string]any {
	port := map[string]int{}
	for _, t := range Transports() {
		port[service(t)] = 0
	}
	maps.Copy(port, ports)
	return map[string]any{"node": name, "number": number, "host": host, "port": port}
}

// values are those of a node's templates.
func (d *Document) values(of map[string]any, peers []map[string]any, dir, program string, set map[string]any) map[string]any {
	return merged(of, map[string]any{
		"dir": dir, "data": filepath.Join(dir, "data"), "program": program, "home": os.Getenv("HOME"), "set": set, "peers": peers, "cert": "", "key": "", "ca": "",
	})
}

// render executes a template. A value that does not exist is an error.
func render(text string, values map[string]any) (string, error) {
	t, err := template.New("template").Option("missingkey=error").Parse(text)
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, values)
	}
	if err != nil {
		return "", errors.New(strings.Replace(err.Error(), "template: template:", "line ", 1))
	}
	return b.String(), nil
}

func renderWords(words []string, values map[string]any) (rendered []string, err error) {
	for _, word := range words {
		text, err := render(word, values)
		if err != nil {
			return nil, err
		}
		rendered = append(rendered, text)
	}
	return rendered, nil
}

// A limit is a number of a document, or a template of one.
type limit struct{ name, text string }

func (l DocumentLimits) byName() []limit {
	return []limit{{"queue", l.Queue}, {"in_flight", l.InFlight}, {"session_s", l.SessionS}, {"message_s", l.MessageS}}
}

// number is the limit's value, unless it is not known.
func (l limit) number(values map[string]any) (n int, known bool, err error) {
	if l.text == "" {
		return 0, false, nil
	}
	text, err := render(l.text, values)
	if err == nil {
		n, err = strconv.Atoi(strings.TrimSpace(text))
	}
	if least := map[bool]int{true: history.UnknownQueue}[l.name == "queue"]; err != nil || n < least {
		return 0, false, fmt.Errorf("limits: %s is %q; it must be a whole number, or a template of one", l.name, cmp.Or(text, l.text))
	}
	return n, true, nil
}
