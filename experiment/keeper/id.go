package keeper

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/stored"
)

// newRun makes a run directory and names it: month and day, hour and minute
// (UTC), what is done, four random digits: 1121-0107-broker-kill-9-3f2a.
func newRun(stateDir, scenario string, now time.Time) (id string, err error) {
	for {
		var random [2]byte
		rand.Read(random[:])
		id = strings.Join([]string{now.UTC().Format("0102-1504"), cmp.Or(stored.Slug(scenario), "hand"), hex.EncodeToString(random[:])}, "-")
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
