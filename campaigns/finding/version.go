package finding

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// version of the subject of a finding in a run, as semantic versioning writes it: v0.4.12.
// It is "" where nobody knows it, or where it is none: such a version moves no status.
func (k Key) version(r Run) string {
	if k.Party != verdict.SDK {
		return VersionOf(r.Version)
	}
	for _, sdk := range strings.Split(r.SDK, ", ") {
		if name, version, _ := strings.Cut(sdk, "@"); name == k.Subject {
			return semantic(version)
		}
	}
	return ""
}

// VersionOf is the version at the end of a broker's name, as semantic versioning writes it:
// v0.4.12 of "robustmq 0.4.12". It is "" where there is none.
func VersionOf(broker string) string {
	words := strings.Fields(broker)
	return semantic(strings.Join(words[max(0, len(words)-1):], ""))
}

func semantic(version string) string {
	return semver.Canonical("v" + strings.TrimPrefix(version, "v"))
}

// shown is a version as people write it.
func shown(version string) string { return strings.TrimPrefix(version, "v") }

// newest is the newest version among the runs that show a finding.
func newest(key Key, list []*sight) (n Newest) {
	best := ""
	for _, s := range list {
		v := key.version(s.run)
		switch order := semver.Compare(v, best); {
		case v == "" || order < 0:
		case order > 0 || s.run.Started.Before(n.First):
			best, n = v, Newest{shown(v), s.run.Started}
		}
	}
	return n
}

// NotBefore reports whether the version is another one, as people write both, or later.
func (n Newest) NotBefore(version string) bool {
	return n.Version != "" && semver.Compare("v"+n.Version, "v"+version) >= 0
}
