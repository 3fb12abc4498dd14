package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// The files of this package in a run directory.
const (
	EventsFile   = "history.arrow"
	TablesFile   = "tables.jsonl"
	RunFile      = "run.json"
	LandingsFile = "landings.json"
)

// landingsFile is landings.json.
type landingsFile struct {
	Format   int       `json:"format"`
	Landings []Landing `json:"landings"`
}

// WriteRun writes dir/run.json, whole or not at all. It sets run.Format.
func WriteRun(dir string, run *Run) error {
	run.Format = Format
	return writeJSON(filepath.Join(dir, RunFile), run)
}

// ReadRun reads dir/run.json. Members that an older format lacks are zero. A run
// of a later format is an error that says which version of the tool wrote it.
func ReadRun(dir string) (*Run, error) {
	path := filepath.Join(dir, RunFile)
	var run Run
	if err := readJSON(path, &run); err != nil {
		return nil, err
	}
	if run.Format < 1 || run.Format > Format {
		return nil, fmt.Errorf("read %s: it has format %d, written by rmq-mcp %s, and this version reads formats up to %d; use that version of rmq-mcp, or a later one", path, run.Format, run.Tool, Format)
	}
	run.Cluster.fill()
	return &run, nil
}

// WriteLandings writes dir/landings.json, whole or not at all.
func WriteLandings(dir string, landings []Landing) error {
	if landings == nil {
		landings = []Landing{}
	}
	return writeJSON(filepath.Join(dir, LandingsFile), landingsFile{Format, landings})
}

// ReadLandings reads dir/landings.json. A file of a later format is an error.
func ReadLandings(dir string) ([]Landing, error) {
	path := filepath.Join(dir, LandingsFile)
	var file landingsFile
	if err := readJSON(path, &file); err != nil {
		return nil, err
	}
	if file.Format < 1 || file.Format > Format {
		return nil, fmt.Errorf("read %s: it has format %d and this version reads formats up to %d; run.json beside it names the version of rmq-mcp that wrote it", path, file.Format, Format)
	}
	return file.Landings, nil
}

// writeJSON replaces path by v, indented, and returns when it is on disk.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := replaceFile(path, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// replaceFile writes a new file beside path and renames it over path, so that
// a reader, or a crash, sees the old one or the new one and nothing between.
func replaceFile(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(file.Name()))
		}
	}()
	if err = file.Chmod(0o644); err != nil {
		return err
	}
	if _, err = file.Write(data); err != nil {
		return err
	}
	if err = file.Sync(); err != nil {
		return err
	}
	name := file.Name()
	if err := file.Close(); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	if err := os.Rename(name, path); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return syncDir(dir)
}

func readJSON(path string, v any) error {
	data, err := stored.ReadFile(path, stored.MostJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; name the evidence directory of a run, rmq-mcp list runs shows them", err)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(plain.JSON(data), v); err != nil {
		return fmt.Errorf("read %s: %w; the file is not as rmq-mcp wrote it, rmq-mcp verify says what changed", path, err)
	}
	return nil
}
