package campaigns

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
)

// A Build is which build of a broker a run was on. A field is empty where nobody knows it.
type Build struct {
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256,omitempty"` // of its binary, or the id of its image
}

// build of the broker.
func (b Broker) build() Build {
	return Build{strings.TrimPrefix(b.Version, history.UnknownVersion), b.Build}
}

// BuildOf is the build of a binary; none for "".
func BuildOf(binary string) (b Build, err error) {
	if binary != "" {
		b.SHA256, err = cluster.Hash(binary)
	}
	return b, err
}

// other reports whether two builds differ in what is known of both.
func (b Build) other(o Build) bool {
	differ := func(a, b string) bool { return a != b && a != "" && b != "" }
	return differ(b.SHA256, o.SHA256) || differ(b.Version, o.Version)
}

func (b Build) String() string {
	var parts []string
	if b.Version != "" {
		parts = append(parts, b.Version)
	}
	if b.SHA256 != "" {
		parts = append(parts, fmt.Sprintf("sha256 %.12s", b.SHA256))
	}
	return strings.Join(parts, ", ")
}

// errOtherBuild is in the errors of runs that would be made, or were, on another build of the
// broker than those before.
var errOtherBuild = errors.New("another build")

// repeatedBy is an error where a run was on another build than the one that the job repeats.
func (j Job) repeatedBy(run Cell) error {
	if is := run.Broker.build(); j.Build.other(is) {
		return fmt.Errorf("%s of %s: run %s was on %w of the broker (%s) than that run (%s) and repeats nothing; restore that build to resume, give --binary for where it is now, or `rmq-mcp run` the scenario on the new build", j.Kind, j.RunID, run.RunID, errOtherBuild, is, j.Build)
	}
	return nil
}
