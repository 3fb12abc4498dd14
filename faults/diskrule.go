package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// opParam and pathParam say which operations a disk fault is about.
func opParam(preset string) Param {
	return Param{
		Name: "op", Default: preset,
		Doc: "file operations, one or more with commas between: any, " + joined(disk.Ops()),
	}
}

func pathParam() Param {
	return Param{
		Name: "path", Default: "",
		Doc: "pattern of the files meant, relative to the data directory: *.db by name, jetstream/**/*.blk by path; empty: all",
	}
}

func seedParam() Param {
	return Param{Name: "seed", Default: 1.0, Min: 0, Max: 1 << 53, Doc: "of what is left to chance"}
}

// parseOps reads the parameter op. None is every operation.
func parseOps(text string) ([]disk.Op, error) {
	if text == "any" {
		return nil, nil
	}
	var out []disk.Op
	for word := range strings.SplitSeq(text, ",") {
		op := disk.Op(strings.TrimSpace(word))
		if !slices.Contains(disk.Ops(), op) {
			return nil, fmt.Errorf("parameter op: no file operation %q; valid: any, %s", op, joined(disk.Ops()))
		}
		if !slices.Contains(out, op) {
			out = append(out, op)
		}
	}
	return out, nil
}

// operation is the one of these that a probe does: the first that it comes to,
// as each needs those before it. None are all.
func operation(ops []disk.Op) disk.Op {
	if len(ops) == 0 {
		return disk.Create
	}
	order := []disk.Op{disk.Stat, disk.Create, disk.Write, disk.Fsync, disk.Truncate, disk.Allocate, disk.Open, disk.Read}
	for _, op := range order {
		if slices.Contains(ops, op) {
			return op
		}
	}
	return ops[0]
}

func joined[T ~string](words []T) string {
	var out []string
	for _, w := range words {
		out = append(out, string(w))
	}
	return strings.Join(out, ", ")
}

// checkRule says what is wrong with a rule before anything was started.
func checkRule(r disk.Rule) error {
	r.ID = "new"
	err := disk.Faults{Rules: []disk.Rule{r}}.Check()
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// planRule plans the same rule on every node of the target. Effect is the proof
// that it is to be felt on a disk.
func planRule(ctx context.Context, target Target, rule disk.Rule, effect func(Node, Disk) Proof) (*Injection, error) {
	in, err := target.onDisks(ctx, func(in *Injection, n Node, d Disk) error {
		in.Entries = append(in.Entries, diskEntry(n, d, wantRule, diskArgs{Rule: rule}))
		in.Proofs = append(in.Proofs, met(in, n, d), effect(n, d))
		in.Healed = append(in.Healed, unheld(n, d, in.id))
		return nil
	})
	return in, err
}

// met is the mechanism's counter: operations of the broker that the fault's
// rule hit. Operations of probes are counted apart.
func met(in *Injection, n Node, d DiskRules) Proof {
	return Proof{
		Name: "operations hit on " + n.Name(), Node: n.Name(),
		Role: history.RoleMechanism, Want: history.WantGrows, Unit: "operations",
		Read: func(ctx context.Context) history.Sample {
			s, err := d.Stats(ctx)
			if err != nil {
				return failed(err)
			}
			return hitsSample(s.Rules[in.Entries[0].Fault])
		},
	}
}

// hitsSample is a rule's counter, with what it hit last.
func hitsSample(h disk.RuleHits) history.Sample {
	s := history.Sample{OK: true, Value: float64(h.Hits)}
	if h.Hits == 0 {
		return s
	}
	s.State = fmt.Sprintf("%d of %d operations", h.Hits, h.Matched)
	for i, hit := range slices.Backward(h.Last) {
		if !hit.Probe {
			s.State += ", the last: " + hitText(h.Last[i])
			break
		}
	}
	return s
}

func hitText(h disk.Hit) string {
	text := fmt.Sprintf("%s %s", h.Op, h.Path)
	if h.Length > 0 {
		text += fmt.Sprintf(" (%d bytes at %d)", h.Length, h.Offset)
	}
	if h.Delay > 0 {
		text += fmt.Sprintf(" waited %.0f ms", milliseconds(h.Delay))
	}
	if h.Errno != "" {
		text += " got " + h.Errno
	}
	return text
}

// unheld reads back that a disk does not know a fault's rule any more.
func unheld(n Node, d DiskRules, fault func() string) Check {
	return unnumbered("rule on the disk of "+n.Name(), func(ctx context.Context) error {
		s, err := d.Stats(ctx)
		if err == nil && slices.ContainsFunc(s.Faults.Rules, func(r disk.Rule) bool { return r.ID == fault() }) {
			err = fmt.Errorf("disk of %s: the rule of %s is still there", n.Name(), fault())
		}
		return err
	})
}

// answersErrno is the effect of a disk that refuses: a probe's operation fails
// with that error, and did not before.
func answersErrno(n Node, d DiskProbe, op disk.Op, times int, errno string) Proof {
	return Proof{
		Name: fmt.Sprintf("%s on the disk of %s", op, n.Name()), Node: n.Name(),
		Role: history.RoleEffect, Want: history.WantState, Expect: errno,
		Read: func(ctx context.Context) history.Sample {
			got, err := d.Touch(ctx, op, times)
			if err != nil {
				return failed(err)
			}
			if got.Errno == "" {
				got.Errno = "done"
			}
			return history.Sample{OK: true, Value: milliseconds(got.Took), State: got.Errno}
		},
	}
}
