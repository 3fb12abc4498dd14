package hosts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Apply does it, provided that the file is still what it was when the change
// was planned.
func (c Change) Apply() error {
	if c.Empty() {
		return nil
	}
	d, err := c.draft()
	defer d.discard() // of no effect on what is renamed
	if err != nil {
		return err
	}
	return d.commit()
}

// A drafted change lacks its last step: its files are written, under names of their
// own. The slow steps are then over when commit checks that nobody else wrote the
// file.
type drafted struct {
	Change
	file, backup string // "" where there is none to write
}

func (c Change) draft() (d drafted, err error) {
	d.Change = c
	dir, err := makeDir(filepath.Dir(c.File))
	if err != nil {
		return d, fmt.Errorf("make the directory of %s: %w", c.File, err)
	}
	if c.Backup != "" {
		if d.backup, err = draft(c.Backup, c.found.bytes, c.mode, c.found.info, dir); err != nil {
			return d, fmt.Errorf("keep %s as it is: %w", c.File, err)
		}
	}
	if c.after != nil {
		d.file, err = draft(c.File, c.after, c.mode, c.found.info, dir)
	}
	return d, err
}

func (d drafted) commit() error {
	now, err := read(d.File)
	if err != nil {
		return err
	}
	if now.path != d.File || !bytes.Equal(now.bytes, d.found.bytes) {
		return fmt.Errorf("%s was changed by another program meanwhile; run this again. Nothing was changed", d.File)
	}
	if d.backup != "" {
		if err := os.Rename(d.backup, d.Backup); err != nil {
			return fmt.Errorf("keep %s as it is: %w", d.File, err)
		}
	}
	if d.after == nil {
		return os.Remove(d.File)
	}
	if err := os.Rename(d.file, d.File); err != nil {
		return err
	}
	if d.unkeep != "" {
		return os.Remove(d.unkeep)
	}
	return nil
}

func (d drafted) discard() {
	for _, name := range []string{d.file, d.backup} {
		if name != "" {
			os.Remove(name)
		}
	}
}
