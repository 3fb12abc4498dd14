package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Process says which process the node is now, by its number and its start as
// the kernel counts it: a number alone may be another's later. One that is
// gone is an error.
func (n *Node) Process() (string, error) {
	p := n.process()
	if p == nil {
		return "", fmt.Errorf("look at the process of %s: %w", n.name, ErrUnsupported)
	}
	if p.exited() {
		return "", fmt.Errorf("the process of %s is gone: %s", n.name, p.how())
	}
	return p.identity()
}

// Ask answers what the node says of itself over its own pages: its version,
// the members of its cluster, and its settings, as setting.<name>.
func (n *Node) Ask(ctx context.Context) (map[string]string, error) {
	if n.ask == nil {
		return nil, fmt.Errorf("ask %s about itself: it has no page that says so: %w", n.name, ErrUnsupported)
	}
	word, err := n.ask(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask %s about itself: %w", n.name, err)
	}
	return word, nil
}

// Launch says how the node's process is started from the next time on: from
// another binary, with settings beside those of the cluster. Zero values are
// as it was planned.
func (n *Node) Launch(binary string, settings map[string]any) error {
	if err := n.Launchable(binary, settings); err != nil {
		return err
	}
	config := n.like
	config.Settings = settings
	_, config, err := named(config)
	if err == nil {
		err = n.setup(binary, config.Settings)
	}
	if err != nil {
		return fmt.Errorf("configure %s: %w", n.name, err)
	}
	return nil
}

// Launchable is nil where Launch would do that. It changes nothing.
func (n *Node) Launchable(binary string, settings map[string]any) error {
	if n.setup == nil {
		return fmt.Errorf("start %s otherwise: %w", n.name, ErrUnsupported)
	}
	config := n.like
	config.Settings = settings
	if err := CheckFits(config); err != nil {
		return fmt.Errorf("configure %s: %w", n.name, err)
	}
	if binary == "" {
		return nil
	}
	if err := n.launcher.beside(otherBinary); err != nil {
		return fmt.Errorf("start %s from another binary: %w", n.name, err)
	}
	fits := executable
	if n.like.flavor().Document != nil { // its command may hand it to an interpreter
		fits = isThere
	}
	if err := fits(binary); err != nil {
		return fmt.Errorf("start %s from another binary: %w", n.name, err)
	}
	return nil
}

// Mechanism names the means that brings the node into a state, if that is not a signal
// of this system.
func (n *Node) Mechanism(want string) string { return n.launcher.mechanism(want) }

// isThere says why a path leads nowhere.
func isThere(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s is not an absolute path", path)
	}
	_, err := os.Stat(path)
	return err
}

// executable says why a file cannot be run.
func executable(path string) error {
	if err := isThere(path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s cannot be executed", path)
	}
	return nil
}

// from has the node started from a binary from the next time on.
func (n *Node) from(binary string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.argv = append([]string{binary}, n.argv[1:]...)
}

// command is its command line.
func (n *Node) command() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.argv)
}

// Wiped is how many files Wipe has removed so far.
func (n *Node) Wiped() int { return int(n.wiped.Load()) }

// Wipe removes all that the node stored. Its process must be gone. The
// directories themselves stay: something may be mounted there.
func (n *Node) Wipe() error {
	if p := n.process(); p == nil || n.data == "" {
		return fmt.Errorf("remove the data of %s: %w", n.name, ErrUnsupported)
	} else if !p.exited() {
		return fmt.Errorf("remove the data of %s: it is running", n.name)
	}
	files, err := n.wipe()
	if err != nil {
		return fmt.Errorf("remove the data of %s: %w", n.name, err)
	}
	n.wiped.Add(int64(files))
	return nil
}

// wipe answers how many files there were. A layer under the data directory
// does it itself: the keeper does not touch what is mounted.
func (n *Node) wipe() (files int, err error) {
	if d := n.Disk(); d != nil {
		lost, err := d.Erase(context.Background())
		return lost.Files, err
	}
	err = filepath.WalkDir(n.data, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err == nil {
		err = empty(n.data)
	}
	return files, err
}

// empty removes all that is in a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return errors.Join(errs...)
}
