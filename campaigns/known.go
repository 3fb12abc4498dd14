package campaigns

import (
	"slices"

	"github.com/robustmq/rmq-mcp/reports"
)

// A Known is a defect of a client library that its own project knows.
type Known struct {
	Library     string   // lang/package
	From, Until string   // versions, inclusive; "" is open
	Protocols   []string // in which it shows; none is all
	Claims      []string // that it breaks
	Symptom     string
	Issue       string // where upstream says so
}

func (k Known) covers(sdk, protocol string, claims []string) bool {
	v := version(sdk)
	return library(sdk) == k.Library &&
		(k.From == "" || CompareVersions(v, k.From) >= 0) && (k.Until == "" || CompareVersions(v, k.Until) <= 0) &&
		(len(k.Protocols) == 0 || slices.Contains(k.Protocols, protocol)) &&
		slices.ContainsFunc(claims, func(c string) bool { return slices.Contains(k.Claims, c) })
}

// KnownOf reports whether it is a known defect of a client library that it breaks a claim.
func KnownOf(sdk, protocol, claim string) bool {
	return slices.ContainsFunc(KnownDefects(), func(k Known) bool { return k.covers(sdk, protocol, []string{claim}) })
}

// known names the upstream defect that explains all SDKs of an attribution,
// and reports whether there is one.
func known(a *reports.Attribution) bool {
	for _, k := range KnownDefects() {
		if !slices.ContainsFunc(a.SDKs, func(sdk string) bool { return !k.covers(sdk, a.Protocol, a.Claims) }) {
			a.Issue = k.Issue
			a.Evidence = append(a.Evidence, "known upstream: "+k.Symptom)
			return true
		}
	}
	return false
}
