package site

import (
	"slices"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
)

// shownAtOnce is how many runs a page of the list shows.
const shownAtOnce = 100

// A listing is the first page.
type listing struct {
	*site
	Data    data
	Choices []choice
	Newest  []*run // for a reader without scripts; on the page of all runs, all
	Summary string // of the findings
}

// A data is all runs as the page's script reads them. It shows those that the reader chose.
type data struct {
	Runs   []listed `json:"runs"`
	Claims []string `json:"claims"`  // that a run judged; runs name them by their places
	AtOnce int      `json:"at_once"` // runs that are shown
	No     string   `json:"no_fault"`
}

// A choice is a field of a run by which runs are chosen.
type choice struct {
	Name, Label string
	Options     []option
}

// An option is one value of a choice.
type option struct{ Value, Text string }

// A listed run is one as the script reads it.
type listed struct {
	ID       string        `json:"id"`
	Path     string        `json:"path,omitempty"` // of its page
	Started  int64         `json:"started"`        // milliseconds since 1970
	Scenario string        `json:"scenario"`
	Broker   string        `json:"broker"`
	Version  string        `json:"version"`
	Nodes    int           `json:"nodes"`
	Protocol string        `json:"protocol"`
	SDK      string        `json:"sdk"`
	State    string        `json:"state"`
	Status   string        `json:"status"` // pass, fail or unclear
	Severity string        `json:"severity,omitempty"`
	Counted  bool          `json:"counted,omitempty"` // in the tables of the other pages
	Says     string        `json:"says"`
	Fails    []int         `json:"fails,omitempty"` // claims
	Holds    []int         `json:"holds,omitempty"` // claims
	Faults   []string      `json:"faults,omitempty"`
	Findings []listedUnder `json:"findings,omitempty"`
}

// A listedUnder is a finding that a run shows.
type listedUnder struct {
	Path   string `json:"path"`
	Claim  string `json:"claim"`
	Title  string `json:"title"`
	Status string `json:"status"`
}

// statuses are the classes of states, in words.
var statuses = []option{{"pass", "pass"}, {"fail", "fail"}, {"unclear", "inconclusive, partial, unfinished"}}

// counts are the choices of runs by whether tables count them.
var counts = []option{{"yes", "counted in tables"}, {"no", "planted, copied, unfinished, unreadable"}}

// periods are times until now, in days.
var periods = []option{{"1", "last 24 hours"}, {"7", "last 7 days"}, {"30", "last 30 days"}, {"365", "last year"}}

// writeList writes the first page.
func (s *site) writeList() error {
	l := listing{site: s, Newest: s.Runs[:min(len(s.Runs), shownAtOnce)], Summary: s.findings.Summary()}
	l.Data = data{AtOnce: shownAtOnce, No: noFault, Claims: values(s.Runs, func(r *run) []string { return slices.Concat(r.Failed, r.Held) })}
	for _, r := range s.Runs {
		l.Data.Runs = append(l.Data.Runs, l.listed(r))
	}
	of := func(name, label string, field func(r *run) []string) {
		c := choice{Name: name, Label: label}
		for _, v := range values(s.Runs, field) {
			c.Options = append(c.Options, option{v, v})
		}
		l.Choices = append(l.Choices, c)
	}
	l.Choices = []choice{{"status", "Status", statuses}, {"time", "Time", periods}, {"counted", "Tables", counts}}
	of("protocol", "Protocol", func(r *run) []string { return []string{r.Protocol} })
	of("scenario", "Scenario", func(r *run) []string { return []string{r.Scenario} })
	of("broker", "Broker", func(r *run) []string { return []string{r.Broker} })
	of("version", "Version", func(r *run) []string { return []string{r.On()} })
	of("sdk", "SDK", func(r *run) []string { return []string{r.SDK} })
	of("fault", "Fault that landed", under)
	of("fails", "Claim that fails", func(r *run) []string { return r.Failed })
	of("holds", "Claim that holds", func(r *run) []string { return r.Held })
	if err := s.page("index.html", "index.html", l); err != nil {
		return err
	}
	l.Newest = s.Runs
	return s.page("all.html", "all.html", l)
}

// listed is a run as the script reads it.
func (l *listing) listed(r *run) listed {
	out := listed{
		ID: r.ID, Started: r.Started.UnixMilli(), Scenario: r.Name(), Broker: r.Broker, Version: r.On(), Nodes: r.Nodes, Protocol: r.Protocol, SDK: r.SDK,
		State: string(r.State), Status: r.Class(), Severity: r.Severity, Says: r.Says(), Fails: l.places(r.Failed), Holds: l.places(r.Held), Faults: r.Faults, Counted: r.counted,
	}
	if r.Page {
		out.Path = r.Path()
	}
	for _, f := range l.Shows[r.ID] {
		out.Findings = append(out.Findings, listedUnder{Path: finding.Folder + "/" + f.ID + ".html", Claim: f.Claim, Title: f.String(), Status: f.Status.State})
	}
	return out
}

// places are those of claims among all.
func (l *listing) places(claims []string) (list []int) {
	for _, c := range claims {
		if i, found := slices.BinarySearch(l.Data.Claims, c); found {
			list = append(list, i)
		}
	}
	return list
}

// values are the different values of a field, sorted, without an empty one.
func values(runs []*run, field func(r *run) []string) (list []string) {
	for _, r := range runs {
		list = append(list, field(r)...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(v string) bool { return v == "" })
}
