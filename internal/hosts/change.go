package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// An Entry is how a host starts the server.
type Entry struct {
	Command string // an absolute path: hosts have a search path of their own
	Args    []string
}

func (e Entry) fields(h Host) []field {
	return append(h.kind[:len(h.kind):len(h.kind)], field{"command", e.Command}, field{"args", e.Args})
}

// A Change is what is to be done to one host's file. Nothing is done before
// Apply.
type Change struct {
	// File is what is written, with links followed.
	File string
	// Backup is where the file is kept as it was; "" where there was none.
	Backup string
	// Before is where the file is kept already as it was before our entry came;
	// it is then left alone, and there is no other Backup.
	Before string

	found     file
	after     []byte         // nil: the file is removed
	was, will map[string]any // our entry; nil where there is none
	mode      fs.FileMode
	unkeep    string // the backup that the file becomes again
}

// Empty says that the file is already as it should be.
func (c Change) Empty() bool {
	return bytes.Equal(c.found.bytes, c.after) && (c.found.bytes == nil) == (c.after == nil)
}

// Created says that there was no file, Removed that there will be none.
func (c Change) Created() bool { return c.found.bytes == nil && c.after != nil }

// Removed says that the file held nothing else.
func (c Change) Removed() bool { return c.found.bytes != nil && c.after == nil }

// Install plans to put the server into the file. If the file has an entry already,
// only the way to start the server changes, and the user's additions to the entry
// stay.
func (t Target) Install(e Entry) (Change, error) {
	f, entry, err := t.open()
	if err != nil {
		return Change{}, err
	}
	if _, starts := entry["command"].(string); entry != nil && !starts {
		return Change{}, fmt.Errorf("install into %s: %s has a %s that is not started by a command; `rmq-mcp uninstall` removes it. Nothing was changed", t.Host.Title, t.Path, Name)
	}
	text, err := put(t.Host.syntax, f.text(), t.where(), e.fields(t.Host))
	if err != nil {
		return Change{}, t.refuse(err)
	}
	c := Change{File: f.path, found: f, after: f.with(text), was: entry, mode: t.mode}
	if c.will, err = t.entry(text); err != nil {
		return Change{}, err
	}
	if !c.Empty() {
		c.Backup, c.Before = t.keep(f, entry)
	}
	return c, c.writable()
}

// Uninstall plans to take the server out of the file. A file in which nothing
// else was done since it was installed becomes what it was, to the byte.
func (t Target) Uninstall() (Change, error) {
	f, entry, err := t.open()
	if err != nil {
		return Change{}, err
	}
	c := Change{File: f.path, found: f, after: f.bytes, was: entry, mode: t.mode}
	if entry == nil {
		return c, nil
	}
	if before, ok := t.pristine(f); ok && t.differ(before, f, entry) {
		c.after, c.unkeep = before.bytes, before.path
		return c, c.writable()
	}
	text, err := drop(t.Host.syntax, f.text(), t.where())
	if err != nil {
		return Change{}, t.refuse(err)
	}
	c.after = f.with(text)
	c.Backup, c.Before = t.keep(f, entry)
	if t.alone(f, entry) && !f.linked { // a link to nothing would be left
		c.after = nil
	}
	return c, c.writable()
}

// Installed answers how the file starts the server; ok is false where it does
// not.
func (t Target) Installed() (Entry, bool, error) {
	_, entry, err := t.open()
	if err != nil || entry == nil {
		return Entry{}, false, err
	}
	return entryOf(entry), true, nil
}

// entryOf reads an entry of a file.
func entryOf(table map[string]any) Entry {
	var e Entry
	e.Command, _ = table["command"].(string)
	args, _ := table["args"].([]any)
	for _, arg := range args {
		e.Args = append(e.Args, fmt.Sprint(arg))
	}
	return e
}

// where is the path of our entry.
func (t Target) where() []string { return []string{t.Host.table, Name} }

// open reads the file, and our entry; nil where it has none.
func (t Target) open() (file, map[string]any, error) {
	f, err := read(t.Path)
	if err != nil {
		return f, nil, err
	}
	entry, err := t.entry(f.text())
	return f, entry, err
}

// entry is our entry in a text; nil where it has none.
func (t Target) entry(text []byte) (map[string]any, error) {
	table, err := t.Host.syntax.decode(text)
	if err != nil {
		return nil, t.refuse(err)
	}
	entry, ok := lookup(table, t.where())
	servers, _ := lookup(table, t.where()[:1])
	if _, there := servers[Name]; there && !ok {
		return nil, t.refuse(fmt.Errorf("line %d: %s is there, but not as the settings of a server; %w", t.Host.syntax.line(text, t.where()), Name, errByHand))
	}
	return entry, nil
}

func (t Target) refuse(err error) error {
	next := "; mend it, or move it away, and run this again"
	if errors.Is(err, errByHand) {
		next = ""
	}
	return fmt.Errorf("%s of %s: %w%s. Nothing was changed", t.Path, t.Host.Title, err, next)
}

// keep returns the path for a backup of a file with that entry. If a backup from
// before the entry is there already, keep returns its path as before. A file that is
// missing, or holds only our installation, needs neither.
func (t Target) keep(f file, entry map[string]any) (backupTo, before string) {
	switch was, ok := t.pristine(f); {
	case f.bytes == nil:
		return "", ""
	case entry != nil && ok:
		return "", was.path
	case t.alone(f, entry):
		return "", ""
	}
	return backup(f.path), ""
}

// pristine is the backup beside a file; ok is false where there is none, or one
// that has our entry itself.
func (t Target) pristine(f file) (before file, ok bool) {
	before, err := read(backup(f.path))
	if err != nil || before.bytes == nil {
		return before, false
	}
	ours, err := t.entry(before.text())
	return before, err == nil && ours == nil
}

// differ says whether a file is another with our entry, and nothing else: that
// one is then still what there was before us.
func (t Target) differ(before, f file, entry map[string]any) bool {
	text, err := put(t.Host.syntax, before.text(), t.where(), entryOf(entry).fields(t.Host))
	return err == nil && bytes.Equal(before.with(text), f.bytes)
}

// alone says whether a file is what an installation makes where there is none.
func (t Target) alone(f file, entry map[string]any) bool {
	if entry == nil {
		return false
	}
	text, err := put(t.Host.syntax, nil, t.where(), entryOf(entry).fields(t.Host))
	return err == nil && bytes.Equal(text, f.bytes)
}

func backup(path string) string { return path + ".before-" + Name }

// writable refuses a file that its owner protected: replacing it would not
// ask.
func (c Change) writable() error {
	if !c.Empty() && c.found.info != nil && c.found.info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s is read-only; make it writable and run this again. Nothing was changed", c.File)
	}
	return nil
}
