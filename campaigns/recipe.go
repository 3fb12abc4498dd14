package campaigns

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A Recipe is how a run was made, as its record keeps it: all it takes to make
// it again.
type Recipe struct {
	Dir      string // absolute
	Run      *history.Run
	Root     string       // of the run's seal
	Start    keeper.Start // its scenario is a name; [Recipe.Text] is what is executed
	Text     string       // of the scenario
	Wanted   Fingerprint  // what failed, judged again by this program
	Headline string
}

// ReadRecipe reads how a run was made. It is an error, with the next step, where
// that cannot be done again: the run was explored by hand, its record lacks
// something, the broker's binary is not there any more, or somebody else recorded it and
// it names things of this machine. Binary is where the broker's binary is now, "" for
// where it was.
func ReadRecipe(stateDir, dir, binary string) (Recipe, error) {
	return readRecipe(stateDir, dir, binary != "", func(r *Recipe) error { return findBroker(r, binary) })
}

// Another is what a run is repeated on instead of what it was on: a version of the broker,
// its binary, or a library. The empty ones stay as they were.
type Another struct {
	Version string // of the broker, to be downloaded or installed
	Binary  string // path
	SDK     string // lang/package@version
}

// ReadRecipeOn reads how a run was made, to make it on something else.
func ReadRecipeOn(stateDir, dir string, on Another) (Recipe, error) {
	return readRecipe(stateDir, dir, on.Binary != "" || on.Version != "", func(r *Recipe) error {
		if on.SDK != "" {
			r.Start.SDK = on.SDK
		}
		c := &r.Start.Cluster
		switch {
		case on.Version == "" && on.Binary == "":
			return findBroker(r, "")
		case c.Foreign():
			return fmt.Errorf("its broker is external: install the version there, and run %s on it", r.Run.Scenario)
		}
		c.Version, c.VersionSHA256, c.Binary, c.Image = on.Version, "", "", ""
		if on.Binary == "" {
			return nil
		}
		var err error
		if c.Binary, err = filepath.Abs(on.Binary); err != nil {
			return err
		}
		_, err = cluster.Check(*c)
		return err
	})
}

// readRecipe reads a recipe; given says that the caller named a binary or a version.
func readRecipe(stateDir, dir string, given bool, broker func(*Recipe) error) (Recipe, error) {
	d, err := reports.Open(dir)
	if err != nil {
		return Recipe{}, err
	}
	again := func(err error) (Recipe, error) { return Recipe{}, fmt.Errorf("repeat run %s: %w", d.Run.ID, err) }
	if d.Run.Scenario == "" {
		return again(errors.New("it was explored by hand, so there is no schedule to repeat; run the scenario whose workload it used, with the fault in its schedule"))
	}
	r := Recipe{Run: d.Run, Text: d.Scenario}
	if r.Dir, err = filepath.Abs(dir); err != nil {
		return again(err)
	}
	if sum := sha256.Sum256([]byte(r.Text)); hex.EncodeToString(sum[:]) != d.Run.ScenarioSHA {
		return again(fmt.Errorf("evidence/%s is not the text that was executed, or is gone; `rmq-mcp verify` says what changed, and `rmq-mcp run %s` runs the scenario as it is today", reports.ScenarioFile, d.Run.Scenario))
	}
	if r.Start, err = readStart(d); err != nil {
		return again(err)
	}
	if c := r.Start.Cluster; c.Document != nil || c.Broker != "" { // which is executed to start the broker, and already to look for it
		if err := r.checkStranger(stateDir, dir, given); err != nil {
			return again(err)
		}
	}
	if err := broker(&r); err != nil {
		return again(err)
	}
	if err := r.checkStranger(stateDir, dir, given); err != nil {
		return again(err)
	}
	cell, err := Read(dir)
	if err != nil {
		return again(err)
	}
	r.Root, r.Wanted, r.Headline = cell.Root, cell.Failures(), cell.Verdict.Headline
	return r, nil
}

func readStart(d *reports.RunDir) (start keeper.Start, err error) {
	err = stored.ReadJSON(filepath.Join(d.Evidence(), reports.StartFile), &start)
	if errors.Is(err, fs.ErrNotExist) {
		return start, fmt.Errorf("rmq-mcp %s recorded it, and did not keep how it was started; for a run that can be repeated: `rmq-mcp run %s --seed %d` with the same flags", d.Run.Tool, d.Run.Scenario, d.Run.Seed)
	}
	if err != nil {
		return start, err
	}
	if start.Cluster.Username != "" {
		return start, fmt.Errorf("the password of %s is not recorded; run %s again with it", start.Cluster.Username, d.Run.Scenario)
	}
	return start, nil
}

// checkStranger refuses a run of another key than this state directory's if it names
// something of this machine. Its author must not choose the things that we act on.
func (r *Recipe) checkStranger(stateDir, dir string, given bool) error {
	seal, err := reports.VerifySeal(dir)
	if err != nil {
		return fmt.Errorf("%w; what was changed since is not repeated, `rmq-mcp verify` says what it is", err)
	}
	own, err := reports.PublicKey(stateDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if own == seal.PublicKey {
		return nil
	}
	named, next, err := r.ofThisMachine(given)
	if err != nil || named == "" {
		return err
	}
	return fmt.Errorf("it names %s, and the key of %s did not seal it, so another installation chose what it acts on; %s", named, stateDir, next)
}

// ofThisMachine is the first thing of this machine that a recipe names, "" where it names
// none, and how a person names it instead.
func (r *Recipe) ofThisMachine(given bool) (named, next string, err error) {
	c := r.Start.Cluster
	byHand := "if you want that, read its scenario and run it yourself: `rmq-mcp run " + reports.Dir(r.Dir).File(reports.EvidenceDir, reports.ScenarioFile)
	switch {
	case len(c.PIDs) > 0:
		return fmt.Sprintf("processes %v", c.PIDs), "if you want that, name them in the operator's envelope (allowed_pids) and have run_scenario act on them", nil
	case len(c.Containers) > 0:
		return fmt.Sprintf("containers %q", c.Containers), "if you want that, name them in the operator's envelope (allowed_containers) and have run_scenario act on them", nil
	case len(c.Pods) > 0:
		return fmt.Sprintf("pods %q", c.Pods), "if you want that, name them in the operator's envelope (allowed_pods) and have run_scenario act on them", nil
	case len(c.Endpoints) > 0:
		return fmt.Sprintf("endpoints %q", c.Endpoints), byHand + " --endpoint HOST:PORT`", nil
	case c.Beyond():
		return "the runtime " + c.Runtime, byHand + " --runtime " + c.Runtime + "`", nil
	case c.Image != "" && !cluster.VendorsImage(c):
		return fmt.Sprintf("image %q", c.Image), byHand + " --runtime docker --image IMAGE`", nil
	case c.Document != nil || c.Broker != "":
		return "the document of a broker", byHand + " --broker FILE`", nil
	case c.Version != "" && !given && cluster.FlavorNamed(c.Flavor).Document != nil:
		return fmt.Sprintf("%s %s, to be installed", c.Flavor, c.Version), fmt.Sprintf("%s --flavor %s --broker-version %s`", byHand, c.Flavor, c.Version), nil
	case c.Binary != "" && !c.Imaged() && !given:
		return fmt.Sprintf("binary %q", c.Binary), "name yours by --binary", nil
	}
	s, err := scenarios.Parse(r.Run.Scenario, []byte(r.Text))
	if err != nil {
		return "", "", err
	}
	for _, step := range s.Schedule {
		if binary, _ := step.Params["binary"].(string); binary != "" {
			return fmt.Sprintf("binary %q for its fault %s", binary, step.Fault), byHand + "`, with the binary that you want in it", nil
		}
	}
	return "", "", nil
}

// findBroker makes sure that the same broker will be started: the binary found
// now must have the hash in the run's record. A release is fetched again by its
// checksum. An image, an external broker and the embedded one have no file
// here.
func findBroker(r *Recipe, binary string) error {
	c := &r.Start.Cluster
	if binary != "" {
		path, err := filepath.Abs(binary)
		if err != nil {
			return err
		}
		c.Version, c.VersionSHA256, c.Binary = "", "", path
	}
	if c.Version != "" {
		c.Binary = "" // wherever the cache is
		return nil
	}
	now, err := cluster.Check(*c)
	if err != nil {
		return fmt.Errorf("its broker cannot be started here: %w; if it was moved, give --binary (sha256 %s)", err, cmp.Or(r.Run.Cluster.BinarySHA, "not recorded"))
	}
	if now.Binary == "" || c.Imaged() {
		return nil
	}
	is, err := BuildOf(now.Binary)
	if err != nil {
		return fmt.Errorf("its broker cannot be started here: %w", err)
	}
	if was := (Build{SHA256: r.Run.Cluster.BinarySHA}); was.other(is) {
		return fmt.Errorf("%s is %w (%s) than that of the run (%s); give --binary for the build of the run, or `rmq-mcp run` the scenario on the new one", now.Binary, errOtherBuild, is, was)
	}
	return nil
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
