package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// findBinary fills in the path of a broker's binary: the one asked for, else the
// one named by the environment, else the first candidate that can be run.
func findBinary(config *Config, env string, candidates ...string) error {
	wanted := config.Binary
	if wanted == "" && env != "" {
		wanted = os.Getenv(env)
	}
	if wanted != "" {
		candidates = []string{wanted}
	}
	for _, c := range candidates {
		path, err := exec.LookPath(c)
		if err != nil {
			continue
		}
		config.Binary, err = filepath.Abs(path)
		return err
	}
	if wanted != "" {
		return fmt.Errorf("no program at %s, the binary of %s", wanted, config.Flavor)
	}
	if len(candidates) == 0 {
		return fmt.Errorf("no binary of %s is named", config.Flavor)
	}
	return fmt.Errorf("no binary of %s: looked for %s", config.Flavor, strings.Join(candidates, ", "))
}
