package disk

import "time"

// A Loss is what a power loss takes, or would take: the difference to what the
// broker sees.
type Loss struct {
	Files   int   `json:"files"`   // with bytes or a size that are not durable
	Bytes   int64 `json:"bytes"`   // written and not durable
	Entries int   `json:"entries"` // of directories, made, changed or removed and not durable
}

// Nothing says whether nothing is lost.
func (l Loss) Nothing() bool { return l == Loss{} }

// Pending is what is not durable.
type Pending struct {
	Loss                     // the broker's own
	Probes     Loss          `json:"probes"` // that of probes, not in the former
	Operations int           `json:"operations"`
	Oldest     time.Duration `json:"oldest_ns"` // age of the oldest of them
	List       []Change      `json:"list,omitempty"`
	Omitted    int           `json:"omitted,omitempty"` // changes that List has no room for
}

// ListLimit is how many changes a list holds.
const ListLimit = 100

// A Change is a file or an entry that is different without what is not
// durable.
type Change struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"` // data, created, removed, replaced
	Bytes  int64  `json:"bytes,omitempty"`
	Writes int    `json:"writes,omitempty"` // and size changes
	Before *State `json:"before,omitempty"` // as the broker saw it
	After  *State `json:"after,omitempty"`  // as it is after a crash; only in an Outcome
	Probe  bool   `json:"probe,omitempty"`
}

// A State is what a file holds.
type State struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"` // empty beyond HashLimit
}

// HashLimit is the size of a file up to which it is hashed.
const HashLimit = 64 << 20

// A Policy chooses what survives a power loss.
type Policy string

const (
	LoseAll    Policy = "lose_all"    // only what is durable
	Prefix     Policy = "prefix"      // what was done until some moment, in the order it was done
	Subset     Policy = "subset"      // of each file the writes until some moment, its own; of the entries too
	Torn       Policy = "torn"        // until some write, and of this one a part that ends where a sector does
	LostRename Policy = "lost_rename" // every byte written, and no directory entry that is not durable
	ZeroLength Policy = "zero_length" // every directory entry, and no byte that is not durable
)

// Policies are all of them.
func Policies() []Policy { return []Policy{LoseAll, Prefix, Subset, Torn, LostRename, ZeroLength} }

// Crash asks for a power loss.
type Crash struct {
	Policy Policy `json:"policy"`
	Seed   uint64 `json:"seed"`             // the same seed and the same pending operations, the same survivors
	Sector int64  `json:"sector,omitempty"` // of a torn write, in bytes: 512 or 4096; 0: chosen by the seed
	Path   string `json:"path,omitempty"`   // Torn: only a write to files that match this pattern is torn
}

// An Outcome is what a power loss took.
type Outcome struct {
	Crash
	Dropped Loss     `json:"dropped"` // the broker's own; nothing: the crash was none
	Probes  Loss     `json:"probes"`
	Kept    Loss     `json:"kept"` // what was pending and survived
	Torn    *Tear    `json:"torn,omitempty"`
	List    []Change `json:"list,omitempty"`
	Omitted int      `json:"omitted,omitempty"`
}

// A Tear is the write that was torn: of its bytes the first Kept survive.
type Tear struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Kept   int64  `json:"kept"`
	Sector int64  `json:"sector"`
}

// Stats are the operations since the layer was started.
type Stats struct {
	Ops       map[Op]int64        `json:"ops"`        // the broker's own
	Probes    map[Op]int64        `json:"probes"`     // those of probes
	Rules     map[string]RuleHits `json:"rules"`      // of the rules that are set
	Full      RuleHits            `json:"full"`       // ENOSPC by the limit of bytes, since it was set
	FullFiles RuleHits            `json:"full_files"` // and by that of files
	Usage     Usage               `json:"usage"`
	Faults    Faults              `json:"faults"` // what is set
}

// RuleHits is how often a rule matched and hit.
type RuleHits struct {
	Matched int64 `json:"matched"` // operations of the broker that it looked at
	Hits    int64 `json:"hits"`    // of those that it disturbed
	Probes  int64 `json:"probes"`  // operations of probes that it disturbed
	Last    []Hit `json:"last,omitempty"`
}

// LastHits is how many hits a rule remembers: the first half of it from the
// beginning, the rest from the end.
const LastHits = 32

// A Hit is an operation that was disturbed.
type Hit struct {
	Time   time.Time     `json:"time"`
	Rule   string        `json:"rule"`
	Op     Op            `json:"op"`
	Path   string        `json:"path"`
	Offset int64         `json:"offset,omitempty"`
	Length int64         `json:"length,omitempty"`
	Errno  string        `json:"errno,omitempty"`
	Delay  time.Duration `json:"delay_ns,omitempty"`
	Probe  bool          `json:"probe,omitempty"`
	Lost   int64         `json:"lost,omitempty"` // bytes that a failed fsync lost
}

// Usage is how full the disk is, in the broker's eyes.
type Usage struct {
	Bytes  int64 `json:"bytes"`  // in files, counted in blocks of 4 KiB
	Inodes int64 `json:"inodes"` // files and directories
	Limit  Limit `json:"limit"`
}

// A File is one of the data directory.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Open bool   `json:"open,omitempty"`
}

// Rot asks to spoil a file at rest.
type Rot struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Bit    int    `json:"bit"` // 0 to 7
}

// Rotten is a file that was spoiled.
type Rotten struct {
	Rot
	Before State `json:"before"`
	After  State `json:"after"`
	From   byte  `json:"from"`
	To     byte  `json:"to"`
}
