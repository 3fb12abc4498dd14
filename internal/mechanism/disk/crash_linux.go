package disk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// survivors are what survives a power loss.
type survivors struct {
	files   map[*inode]int    // how many of its operations
	entries map[*entryOp]bool // which of the log
	torn    *inode            // whose operation after those survives in part
	part    int64
	tear    *Tear
}

// crash takes back everything that does not survive, and the rest is durable. It also
// returns the files and names that the kernel must not believe any more. Hold ns.
func (t *tree) crash(c Crash) (Outcome, stale, error) {
	f, err := t.survivors(c)
	if err != nil {
		return Outcome{}, stale{}, err
	}
	o := Outcome{Crash: c, Torn: f.tear}
	loss := t.loss(f)
	o.Dropped, o.Probes, o.Kept = loss.own, loss.probes, loss.kept
	o.List, o.Omitted = t.list(loss)
	gone := t.stale(loss)
	if err := t.takeBack(f); err != nil {
		return o, gone, fmt.Errorf("take back what was not durable: %w", err)
	}
	for i := range o.List {
		o.List[i].After = t.stateAt(o.List[i].Path, loss.budget)
	}
	return o, gone, nil
}

func (t *tree) survivors(c Crash) (survivors, error) {
	f := survivors{files: map[*inode]int{}, entries: map[*entryOp]bool{}}
	random := rand.New(rand.NewPCG(c.Seed, 0))
	files := t.pendingFiles()
	switch c.Policy {
	case LoseAll:
	case Prefix:
		if all := t.order(files); len(all) > 0 {
			f.until(t, files, all[random.IntN(len(all))]-1)
		}
	case Subset:
		t.subset(&f, files, random)
	case Torn:
		t.tear(&f, c, files, random)
	case LostRename:
		for _, x := range files {
			f.files[x] = len(x.ops)
		}
	case ZeroLength:
		f.entries = closure(t.log, func(*entryOp) bool { return true })
		for _, x := range files {
			f.files[x] = leading(x.ops, x.all())
		}
	default:
		return f, fmt.Errorf("no policy %q; choose of %v", c.Policy, Policies())
	}
	return f, nil
}

// order is the numbers of all pending operations, ascending.
func (t *tree) order(files []*inode) []uint64 {
	var all []uint64
	for _, op := range t.log {
		all = append(all, op.seq)
	}
	for _, x := range files {
		for _, op := range x.ops {
			all = append(all, op.seq)
		}
	}
	slices.Sort(all)
	return all
}

// until lets survive what was done until a moment.
func (f *survivors) until(t *tree, files []*inode, seq uint64) {
	f.entries = closure(t.log, func(op *entryOp) bool { return op.seq <= seq })
	for _, x := range files {
		f.files[x] = countUntil(x.ops, seq)
	}
}

func countUntil(ops []dataOp, seq uint64) int {
	n := 0
	for n < len(ops) && ops[n].seq <= seq {
		n++
	}
	return n
}

// subset lets survive of each file the operations until a moment of its own,
// and of the log what the model's order allows.
func (t *tree) subset(f *survivors, files []*inode, random *rand.Rand) {
	for _, x := range files {
		f.files[x] = random.IntN(len(x.ops) + 1)
	}
	if t.model.Journal {
		n := random.IntN(len(t.log) + 1)
		f.entries = closure(t.log[:n], func(*entryOp) bool { return true })
	} else {
		f.entries = closure(t.log, func(*entryOp) bool { return random.IntN(2) == 0 })
	}
	for op := range f.entries {
		if x := op.ordered; x != nil {
			f.files[x] = max(f.files[x], countUntil(x.ops, op.orderedAt))
		}
	}
	t.dropLast(f, files)
}

// dropLast drops the last operation where everything would survive: a power
// loss that takes nothing is none.
func (t *tree) dropLast(f *survivors, files []*inode) {
	all := t.order(files)
	kept := len(f.entries)
	for _, n := range f.files {
		kept += n
	}
	if len(all) == 0 || kept < len(all) {
		return
	}
	last := all[len(all)-1]
	for _, op := range t.log {
		if op.seq == last {
			delete(f.entries, op)
		}
	}
	for _, x := range files {
		f.files[x] = min(f.files[x], countUntil(x.ops, last-1))
	}
}

// tear chooses a write that goes over a sector's end, and lets survive what
// was before it and its part until one such end. Without such a write nothing
// survives that is not durable.
func (t *tree) tear(f *survivors, c Crash, files []*inode, random *rand.Rand) {
	sector := c.Sector
	if sector == 0 {
		sector = []int64{512, 4096}[random.IntN(2)]
	}
	type candidate struct {
		x  *inode
		op dataOp
	}
	var all []candidate
	for _, x := range files {
		if x.probe || len(x.places) == 0 || !matches(c.Path, t.name(x)) {
			continue
		}
		for _, op := range x.ops {
			if op.bytes && ends(op, sector) > 0 {
				all = append(all, candidate{x, op})
			}
		}
	}
	if len(all) == 0 {
		return
	}
	chosen := all[random.IntN(len(all))]
	op := chosen.op
	f.until(t, files, op.seq-1)
	end := (op.off/sector + 1 + random.Int64N(ends(op, sector))) * sector
	f.torn, f.part = chosen.x, end-op.off
	f.tear = &Tear{Path: t.name(chosen.x), Offset: op.off, Length: op.n, Kept: f.part, Sector: sector}
}

// ends is how many sectors end inside of a write.
func ends(op dataOp, sector int64) int64 { return (op.off+op.n-1)/sector - op.off/sector }

// takeBack makes the tree what survives.
func (t *tree) takeBack(f survivors) error {
	for _, x := range t.pendingFiles() {
		x.mu.Lock()
		err := t.takeBackFile(x, f)
		x.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if err := t.takeBackEntries(f.entries); err != nil {
		return err
	}
	log := t.log
	t.log = nil
	for _, op := range log {
		t.unpin(op)
	}
	t.committed = t.seq.Load()
	t.buryLost()
	t.recount()
	return nil
}

func (t *tree) takeBackFile(x *inode, f survivors) error {
	keep := f.files[x]
	if x == f.torn {
		if err := t.undo(x, keep+1); err != nil {
			return err
		}
		file, err := t.openLocked(x)
		if err != nil {
			return err
		}
		defer t.closeLocked(x)
		if err := t.undoOp(x, file, x.ops[keep], f.part); err != nil {
			return err
		}
		x.ops = x.ops[:keep]
	}
	if err := t.undo(x, keep); err != nil {
		return err
	}
	t.forget(x, x.all())
	return nil
}

// takeBackEntries makes the slots hold what they held before the operations
// that do not survive.
func (t *tree) takeBackEntries(kept map[*entryOp]bool) error {
	slots := t.differ(kept)
	for _, c := range slots {
		if c.before != nil {
			if err := t.take(c.slot, c.before); err != nil {
				return err
			}
		}
	}
	for _, c := range slots {
		if c.after != nil {
			if err := t.put(c.slot, c.after); err != nil {
				return err
			}
		}
	}
	return nil
}

// differ returns the slots that would change if only the kept operations survived:
// before is the present content of a slot, after the content it would have.
func (t *tree) differ(kept map[*entryOp]bool) []change {
	would := map[slot]*inode{}
	for _, op := range slices.Backward(t.log) {
		if kept[op] {
			continue
		}
		for _, c := range slices.Backward(op.changes) {
			would[c.slot] = c.before
		}
	}
	var list []change
	for s, after := range would {
		if before := s.dir.entries[s.name]; before != after {
			list = append(list, change{s, before, after})
		}
	}
	slices.SortFunc(list, func(a, b change) int {
		if a.dir != b.dir {
			return int(int64(a.dir.id) - int64(b.dir.id))
		}
		return strings.Compare(a.name, b.name)
	})
	return list
}

// buryLost forgets what is in no directory any more, unless the kernel still
// knows it.
func (t *tree) buryLost() {
	for _, x := range t.nodes {
		x.emptied, x.ordered = false, 0 // whoever had it open is dead
		t.reap(x)
	}
}
