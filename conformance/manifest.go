package conformance

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed manifest
var manifests embed.FS

// A Number is a numbered statement of a standard with its checks. The list has the statements without
// a check too, and holds the citations of the checks.
type Number struct {
	Version Version  `json:"version"`
	Number  string   `json:"number"`           // MQTT-3.3.1-5
	Checks  []string `json:"checks,omitempty"` // their names: they cite it, or show it beside another statement
	Binds   string   `json:"binds,omitempty"`  // "client", if it binds clients alone
	Why     string   `json:"why,omitempty"`    // it is not examined
}

// Numbers are all numbered statements of the standards, in their order.
func Numbers() []Number { return slices.Clone(numbers()) }

var numbers = sync.OnceValue(func() (all []Number) {
	cited := map[Version]map[string][]string{V311: {}, V5: {}}
	for _, s := range Statements() {
		if s.Number != "" {
			cited[s.Version][s.Number] = append(cited[s.Version][s.Number], s.Name)
		}
	}
	for _, v := range []Version{V311, V5} {
		text, err := manifests.ReadFile(fmt.Sprintf("manifest/mqtt-%s.txt", v))
		if err != nil {
			panic(err) // a test reads both
		}
		for line := range strings.Lines(string(text)) {
			number, how, _ := strings.Cut(strings.TrimSpace(line), " ")
			if number == "#" || number == "" {
				continue
			}
			n := Number{Version: v, Number: number, Checks: cited[v][number]}
			switch {
			case how == "client":
				n.Binds = how
			case strings.Contains(how, " "):
				n.Why = how
			case how != "":
				n.Checks = append(n.Checks, how)
			}
			all = append(all, n)
		}
	}
	return all
})
