package campaigns

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/reports"
)

// write writes what is left as a scenario, with what it reproduces in words.
func (r *reducer) write() error {
	if r.best == nil {
		return nil
	}
	s, job := *r.best, r.jobDir.Job
	r.out.Changes = changes(r.first, r.best)
	name := strings.TrimSuffix(filepath.Base(r.jobDir.Scenario()), ".md") + "-reduced.md"
	r.out.Command = commandFor(job.Start, name, r.best.Arms())
	s.Prose = r.prose()
	text, err := s.Markdown()
	if err != nil {
		return err
	}
	r.out.Scenario = filepath.Join(r.jobDir.Dir, name)
	if err := reports.WriteFile(r.out.Scenario, text); err != nil {
		return fmt.Errorf("write the reduced scenario: %w", err)
	}
	return nil
}

// prose says what a reduced scenario reproduces, and how that is known.
func (r *reducer) prose() string {
	var b strings.Builder
	job, start := r.jobDir.Job, r.jobDir.Job.Start
	fmt.Fprintf(&b, "# %s\n\n", r.best.Title)
	fmt.Fprintf(&b, "**Reproduces** what run `%s` of `%s` showed on %s:\n\n> %s\n\n", job.RunID, start.Scenario, job.Broker, job.Was)
	fmt.Fprintf(&b, "Failure: %s. The root hash of that run is `%s`.\n\n", job.Wanted, job.Root)
	fmt.Fprintf(&b, "**How often.** It failed in %d of %s of this scenario, with seed %d%s:\n\n", r.out.Failed, plural(r.out.Runs, "run", "runs"), start.Seed, andUnknown(r.out.Unknown))
	for _, t := range r.lastTrials() {
		fmt.Fprintf(&b, "- `%s`, root `%.12s`: %s, %.0f s\n", t.RunID, t.Root, t.Answer, t.DurationS)
	}
	fmt.Fprintf(&b, "\n    %s\n\n", r.out.Command)
	b.WriteString("**What could go** without the failure going too:\n\n| | in the run | here |\n|---|---|---|\n")
	for _, c := range r.out.Changes {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.What, c.From, c.To)
	}
	runs, seconds := r.jobDir.Spent()
	fmt.Fprintf(&b, "\n**How it was found.** %s of %s in %.0f min. A candidate counted as failing when %s runs failed in what the run failed in.",
		plural(runs, "run", "runs"), plural(len(r.out.Steps), "candidate", "candidates"), seconds/60, job.Rule)
	if n := r.unknown(); n > 0 {
		fmt.Fprintf(&b, " Of %s it could not be told, such as where a fault did not land; that was never taken for a pass.", plural(n, "candidate", "candidates"))
	}
	if r.out.Minimal {
		b.WriteString(" In the end nothing that is smaller in one respect alone, and can still show something, failed.")
	} else {
		fmt.Fprintf(&b, " It ended early, because %s: less may do.", r.out.Why)
	}
	b.WriteString("\n")
	return b.String()
}

// lastTrials are the runs of what is left.
func (r *reducer) lastTrials() []Trial {
	text, err := r.best.Markdown()
	if err != nil {
		return nil
	}
	return r.jobDir.of(sumOfText(text))
}

func (r *reducer) unknown() (n int) {
	for _, s := range r.out.Steps {
		if s.Answer == shrink.Unknown {
			n++
		}
	}
	return n
}

// changes are what is smaller in a scenario than in the one it comes from.
func changes(from, to scenario) (list []Change) {
	note := func(what, a, b string) {
		if a != b {
			list = append(list, Change{what, a, b})
		}
	}
	note("schedule", scheduleText(from), scheduleText(to))
	for _, n := range numbers(from) {
		if strings.HasPrefix(n.Name, "step ") {
			continue // maybe another one by now
		}
		note(n.Name, fmt.Sprintf("%.4g", n.Value(from)), fmt.Sprintf("%.4g", n.Value(to)))
	}
	stepChanges(from, to, note)
	note("qos", fmt.Sprint(from.Workload.QoS), fmt.Sprint(to.Workload.QoS))
	return list
}

func scheduleText(s scenario) string {
	list := scheduleList()
	var steps []string
	for i := range list.Len(s) {
		steps = append(steps, list.Item(s, i))
	}
	return cmp.Or(strings.Join(steps, ", "), "no fault")
}

// commandFor returns the command that runs a scenario on the broker of a start.
// Settings that the scenario itself contains are left out.
func commandFor(start keeper.Start, file string, arms []string) string {
	c := start.Cluster
	var words []string
	flag := func(name, value string) {
		if value != "" {
			words = append(words, "--"+name, value)
		}
	}
	flag("broker", c.Broker)
	flag("broker-version", c.Version)
	flag("broker-sha256", c.VersionSHA256)
	flag("binary", c.Binary)
	if c.Runtime != cluster.RuntimeProcess {
		flag("runtime", c.Runtime)
	}
	flag("image", c.Image)
	if c.Profile != cluster.ProfileTested {
		flag("profile", c.Profile)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Settings)) {
		flag("set", fmt.Sprintf("%s=%v", key, c.Settings[key]))
	}
	for _, e := range c.Endpoints {
		flag("endpoint", e)
	}
	if c.QueueLimit > 0 {
		flag("queue-limit", fmt.Sprint(c.QueueLimit))
	}
	if !slices.Equal(slices.Sorted(slices.Values(c.Arm)), slices.Sorted(slices.Values(arms))) {
		flag("arm", strings.Join(c.Arm, ","))
	}
	flag("disk-model", c.DiskModel)
	flag("plant", c.Plant)
	if start.Transport != "tcp" {
		flag("transport", start.Transport)
	}
	flag("ca", c.CA)
	flag("seed", fmt.Sprint(start.Seed))
	return "rmq-mcp run " + file + " " + strings.Join(words, " ")
}
