package experiment

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/broker/release"
)

// Fetch downloads the broker of the version that a configuration asks for,
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
	if config.Flavor == "" {
		config.Flavor = cluster.FlavorNames(cluster.Versioned)[0]
	}
	if !cluster.FlavorNamed(config.Flavor).Versions || config.Imaged() {
		return config, nil // refused where the rest is checked, or the image's
	}
	if config.Binary != "" {
		return config, errors.New("version and binary both say what to run; leave one of them out")
	}
	binary, err := release.Fetch(ctx, release.Request{
		Version: config.Version, SHA256: config.VersionSHA256, Cache: filepath.Join(CacheDir(stateDir), config.Flavor), Progress: progress,
	})
	config.Binary = binary
	return config, err
}
