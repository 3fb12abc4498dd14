package keeper

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// newRun makes a run directory and names it: month and day, hour and minute
// (UTC), what is done, four random digits: 1121-0107-broker-kill-9-3f2a.
func newRun(stateDir, scenario string, now time.Time) (id string, err error) {
	for {
		var random [2]byte
		rand.Read(random[:])
		id = strings.Join([]string{now.UTC().Format("0102-1504"), slug(scenario), hex.EncodeToString(random[:])}, "-")
		err = os.Mkdir(runDir(stateDir, id), 0o700)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("make run directory: %w", err)
	}
	return id, nil
}

// ours are the ids that newRun makes.
var ours = regexp.MustCompile(`^\d{4}-\d{4}-[a-z0-9-]+-[0-9a-f]{4}$`)

// slug is the last part of a scenario's name or path, with nothing in it that
// a file name, a URL or a shell would mind.
func slug(scenario string) string {
	name := strings.TrimSuffix(path.Base(filepath.ToSlash(scenario)), ".md")
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	if clean = strings.Trim(clean, "-"); scenario == "" || clean == "" {
		return "hand"
	}
	return clean[:min(len(clean), 40)]
}
