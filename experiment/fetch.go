package experiment

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/broker/release"
)

// Fetch downloads or installs the broker of the version that a configuration asks for,
// unless that was done before, and answers the configuration with its binary.
// Like [Provision] it is for whoever starts an experiment, before that.
// Progress may be nil.
func Fetch(ctx context.Context, stateDir string, config cluster.Config, progress func(string)) (cluster.Config, error) {
	if config.Version == "" {
		if config.VersionSHA256 != "" {
			return config, errors.New("version_sha256 is of the archive of a version; set version too, or leave it out")
		}
		return config, nil
	}
	config, err := config.Load()
	if err != nil {
		return config, err
	}
	if config.Flavor == "" {
		config.Flavor = cluster.FlavorNames(cluster.Versioned)[0]
	}
	f := cluster.FlavorNamed(config.Flavor)
	if !f.Versions || config.Imaged() {
		return config, nil // refused where the rest is checked, or the image's
	}
	if config.Binary != "" {
		return config, errors.New("version and binary both say what to run; leave one of them out")
	}
	cache := filepath.Join(CacheDir(stateDir), config.Flavor)
	if f.Document == nil {
		config.Binary, err = release.Fetch(ctx, release.Request{Version: config.Version, SHA256: config.VersionSHA256, Cache: cache, Progress: progress})
		return config, err
	}
	if config.VersionSHA256 != "" {
		return config, errors.New("version_sha256 is of an archive, and a package is checked by the client of its registry; leave it out")
	}
	config.Binary, err = f.Document.Package.Install(ctx, cache, strings.TrimPrefix(config.Version, "v"), progress)
	return config, err
}
