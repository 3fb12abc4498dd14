package faults

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/history"
)

// Upgrade starts the target's nodes from another binary, one after the other,
// each once the one before it serves. Healing takes them back the same way,
// on the data that the other binary left.
type Upgrade struct{ Binary string }

// Name is upgrade.
func (Upgrade) Name() string { return "upgrade" }

// Plan plans to upgrade every node, and asks each which version it is.
func (f Upgrade) Plan(ctx context.Context, target Target) (*Injection, error) {
	return otherwise(ctx, target, otherLaunch{
		mechanism: "restart from " + filepath.Base(f.Binary), key: "version", rolling: true,
		args:  launchArgs{Binary: f.Binary},
		check: func(m Member) error { return m.Launchable(f.Binary, nil) },
	})
}

func upgrade() Kind {
	return Kind{
		Type:    "upgrade",
		Ours:    true,
		Draw:    Draw{Never: "another build must be named"},
		Summary: "every node is started from another binary, one after the other; healing goes back the same way",
		Params: []Param{{
			Name: "binary", Doc: "path of the other binary; the operator's envelope must name it", Default: "", Required: true,
		}},
		Targets: processTargets(),
		Example: Example{Target: "all", Params: map[string]any{"duration_s": 4.0, "binary": ExampleBinary}},
		New: func(p Params) (Fault, error) {
			binary := p.text("binary")
			if !filepath.IsAbs(binary) {
				return nil, fmt.Errorf("parameter binary: %q is not an absolute path", binary)
			}
			return Upgrade{Binary: binary}, nil
		},
		Available: startsAgain,
	}
}

// ExampleBinary stands, in the example of upgrade, for a second build of the
// running broker. Only the user who injects the fault has such a build.
const ExampleBinary = "/another/build/of/the/broker"

// An otherLaunch is how nodes are started otherwise than planned, and what of
// it they tell of themselves.
type otherLaunch struct {
	mechanism string
	key       string // of [Member.Ask]
	args      launchArgs
	rolling   bool
	check     func(Member) error
}

// otherwise plans to start nodes otherwise. That they are other processes, and
// that they themselves say something else than before, proves it.
func otherwise(ctx context.Context, target Target, o otherLaunch) (*Injection, error) {
	nodes, err := members(target.Nodes)
	if err != nil {
		return nil, err
	}
	in := &Injection{Mechanism: o.mechanism, Rolling: o.rolling}
	for _, m := range nodes {
		if err := o.check(m); err != nil {
			return nil, err
		}
		word, err := m.Ask(ctx)
		if err != nil {
			return nil, err
		}
		if word[o.key] == "" {
			return nil, fmt.Errorf("%w: %s does not say its own %s, so nothing would prove the change", ErrUnsupported, m.Name(), o.key)
		}
		in.Entries = append(in.Entries, Entry{Layer: processLayerOf(m), Want: Launched, Args: o.args})
		in.Proofs = append(in.Proofs, anotherProcess(m), says(m, o.key, history.RoleEffect, history.WantChanges))
		in.Healed = append(in.Healed, saysAgain(m, o.key, word[o.key]))
	}
	in.Proofs = append(in.Proofs, untouched(target.Control)...)
	return in, nil
}

// saysAgain reads back that a node says of itself what it said before.
func saysAgain(m Member, key, before string) Check {
	return unnumbered(key+" of "+m.Name(), func(ctx context.Context) error {
		word, err := m.Ask(ctx)
		if err == nil && word[key] != before {
			err = fmt.Errorf("%s of %s is still %s, and was %s before the fault", key, m.Name(), word[key], before)
		}
		return err
	})
}
