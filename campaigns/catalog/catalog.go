// Package catalog lists the claims and the faults of this program.
package catalog

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Claim is one claim.
type Claim struct {
	verdict.Claim
	Category  checker.Category `json:"category"`
	Checker   string           `json:"checker"`
	Protocols []string         `json:"protocols"`
}

// Claims are all claims, in the order of reports.
func Claims() (list []Claim) {
	for _, e := range checker.All {
		list = append(list, Claim{Claim: e.Claim, Category: e.Category, Checker: e.Checker, Protocols: e.Protocols})
	}
	return list
}

// A Fault is one type of fault.
type Fault struct {
	Type    string   `json:"type"`
	Family  string   `json:"family"`
	Summary string   `json:"summary"`
	Targets []string `json:"targets"`
	Params  []string `json:"params"` // name, default and meaning of each
}

// Faults are all types of faults.
func Faults() (list []Fault) {
	for _, k := range faults.Catalog() {
		f := Fault{Type: k.Type, Family: k.Family, Summary: k.Summary, Targets: k.Targets, Params: []string{}}
		for _, p := range k.Parameters() {
			f.Params = append(f.Params, fmt.Sprintf("%s (default %v): %s", p.Name, p.Default, p.Doc))
		}
		list = append(list, f)
	}
	return list
}
