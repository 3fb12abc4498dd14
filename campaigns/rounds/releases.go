package rounds

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/campaigns/watch"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/broker/release"
	"github.com/robustmq/rmq-mcp/reports/publish"
)

// From is the default repository of releases.
const From = "robustmq/robustmq"

// Releases are the releases of an OWNER/REPO or a directory, and the name of their watch. A
// directory that is neither, or an OWNER/REPO of a flavor without downloads, is an error.
func (ask Ask) Releases(from string) (source watch.Source, name string, err error) {
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		if from, err = filepath.Abs(from); err != nil {
			return nil, "", fmt.Errorf("watch: find %s: %w", from, err)
		}
		return watch.Directory(from), watch.NameOf(ask.Cluster.Flavor, from), nil
	}
	if f := cluster.FlavorNamed(ask.Cluster.Flavor); !f.Versions || f.Document != nil {
		return nil, "", fmt.Errorf("watch: %q is no directory, and releases of %s cannot be downloaded; name a directory that has each in an entry named by its version", from, f.Title)
	}
	r, err := publish.GitHub(from)
	if err != nil {
		return nil, "", fmt.Errorf("watch: %q is no directory, and %w", from, err)
	}
	archives := ""
	if from != From && os.Getenv(release.BaseEnv) == "" { // a fork's are its own
		archives = "https://github.com/" + from + "/releases/download"
	}
	return watch.GitHub{Client: r.Client, Owner: r.Owner, Repo: r.Name, Archives: archives}, watch.NameOf(ask.Cluster.Flavor, from), nil
}
