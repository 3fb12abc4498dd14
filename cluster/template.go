package cluster

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"github.com/robustmq/rmq-mcp/history"
)

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
