package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Operations on a disk whose broker is down.

// find is the inode of a path relative to the data directory.
func (t *tree) find(name string) (*inode, error) {
	x := t.root
	for part := range strings.SplitSeq(name, "/") {
		if x = x.entries[part]; x == nil {
			return nil, fmt.Errorf("no %s in the data directory; Files lists what there is", name)
		}
	}
	return x, nil
}

func (t *tree) files() []File {
	t.ns.RLock()
	defer t.ns.RUnlock()
	var list []File
	walk(t.root, func(s slot, x *inode) {
		if x.isReg() {
			x.mu.Lock()
			list = append(list, File{Path: t.nameAt(s), Size: x.size, Open: x.opens > 0})
			x.mu.Unlock()
		}
	})
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// errOpen is the error of a repair to a file that is in use.
var errOpen = errors.New("is open; stop the broker first")

// rot flips a bit. Pending changes become durable first, as if the machine had been
// shut down in order.
func (t *tree) rot(r Rot) (Rotten, stale, error) {
	if !t.syncAll() {
		return Rotten{}, stale{}, errors.New("power is cut; Crash or Restore first")
	}
	t.ns.Lock()
	defer t.ns.Unlock()
	x, err := t.find(r.Path)
	if err != nil {
		return Rotten{}, stale{}, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case !x.isReg():
		return Rotten{}, stale{}, fmt.Errorf("%s is no file", r.Path)
	case x.opens > 0:
		return Rotten{}, stale{}, fmt.Errorf("%s %w", r.Path, errOpen)
	case r.Bit < 0 || r.Bit > 7 || r.Offset < 0 || r.Offset >= x.size:
		return Rotten{}, stale{}, fmt.Errorf("no bit %d of byte %d: %s has %d bytes of 8 bits", r.Bit, r.Offset, r.Path, x.size)
	}
	budget := int64(2 * HashLimit)
	rotten := Rotten{Rot: r, Before: *t.stateAt(r.Path, &budget)}
	if err := t.flip(x, &rotten); err != nil {
		return rotten, stale{}, err
	}
	rotten.After = *t.stateAt(r.Path, &budget)
	return rotten, stale{files: []uint64{x.id}}, nil
}

func (t *tree) flip(x *inode, r *Rotten) error {
	f, err := os.OpenFile(t.path(x), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, r.Offset); err != nil && err != io.EOF {
		return err
	}
	r.From, r.To = b[0], b[0]^(1<<r.Bit)
	b[0] = r.To
	_, err = f.WriteAt(b, r.Offset)
	return err
}

// erase removes everything but some names at the top.
func (t *tree) erase(keep []string) (Loss, stale, error) {
	if !t.syncAll() {
		return Loss{}, stale{}, errors.New("power is cut; Crash or Restore first")
	}
	t.ns.Lock()
	defer t.ns.Unlock()
	var loss Loss
	var gone stale
	for name, x := range t.root.entries {
		if slices.Contains(keep, name) {
			continue
		}
		s := slot{t.root, name}
		count := func(_ slot, x *inode) {
			loss.Entries++
			if x.isReg() {
				loss.Files++
				loss.Bytes += x.size
			}
		}
		count(s, x)
		walk(x, count)
		if err := t.take(s, x); err != nil {
			return loss, gone, fmt.Errorf("erase %s: %w", name, err)
		}
		t.reap(x)
		gone.names = append(gone.names, staleName{t.root.id, name})
	}
	t.recount()
	return loss, gone, nil
}
