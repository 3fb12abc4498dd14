package cluster

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/broker/registry"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/internal/yamlfile"
)

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
