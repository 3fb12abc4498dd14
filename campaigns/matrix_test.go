package campaigns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// bench is a matrix without brokers: what a run shows is made up.
type bench struct {
	t     *testing.T
	state string
	make  func(e Entry, attempt int) (Cell, error)

	mu      sync.Mutex
	ran     []string
	cells   map[string]Cell
	live    int
	most    int // runs at the same time
	lacking map[string]error
	docs    []reports.Matrix
}

func newBench(t *testing.T, make func(e Entry, attempt int) (Cell, error)) *bench {
	return &bench{t: t, state: t.TempDir(), make: make, cells: map[string]Cell{}, lacking: map[string]error{}}
}

func (b *bench) work() Work {
	return Work{
		Provision: func(_ context.Context, sdks []clients.SDK, done func(clients.Installation)) {
			for _, sdk := range sdks {
				done(clients.Installation{SDK: sdk, Err: b.lacking[sdk.String()]})
			}
		},
		Run: b.run,
		Read: func(run string) (Cell, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.cells[run], nil
		},
		Save: func(m reports.Matrix) error { b.docs = append(b.docs, m); return nil },
		Tell: func(Event) {},
	}
}

func (b *bench) run(_ context.Context, e Entry) (string, error) {
	b.mu.Lock()
	attempt := 0
	for _, r := range b.ran {
		if r == e.String() {
			attempt++
		}
	}
	b.ran = append(b.ran, e.String())
	b.live++
	b.most = max(b.most, b.live)
	b.mu.Unlock()
	c, err := b.make(e, attempt)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live--
	c.RunID = fmt.Sprintf("run-%d", len(b.cells)+1)
	c.SDK, c.Protocol, c.NoFaults, c.Baseline, c.Transport, c.Broker.Flavor, c.Wire = e.SDK, e.Protocol, e.NoFaults, e.NoFaults, e.Transport, e.Flavor, slices.Contains(e.Arm, "tap")
	b.cells[c.RunID] = c
	return c.RunID, err
}

func (b *bench) plan(sdks ...string) Plan {
	b.t.Helper()
	p, err := NewPlan(Order{
		Scenarios: []Scene{{Name: "mqtt/qos-roundtrip", Flavor: "robustmq", Protocols: []string{"mqtt3", "mqtt5"}}}, SDKs: sdks, Seed: 7,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) begin(p Plan) *Store {
	b.t.Helper()
	s, err := Create(b.state, p, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func well(Entry, int) (Cell, error) { return cell("x"), nil }

func TestAMatrixRunsEveryCellOnce(t *testing.T) {
	b := newBench(t, well)
	p := b.plan("go", "python@2.1.0")
	c, err := NewMatrix(b.begin(p), b.work(), Limits{Jobs: 3, Referees: 9}).Run(t.Context())
	if err != nil || len(c.Attributions) > 0 || len(b.ran) != len(p.Entries) {
		t.Fatalf("%v, %d runs of %d, %+v", err, len(b.ran), len(p.Entries), c)
	}
	if b.most > 3 {
		t.Errorf("%d runs at the same time", b.most)
	}
	last := b.docs[len(b.docs)-1]
	if !last.Finished || len(last.Cells) != len(p.Entries) || slices.ContainsFunc(last.Cells, func(c reports.MatrixCell) bool { return c.RunID == "" }) {
		t.Errorf("%+v", last)
	}
}

func TestWhatCannotBeIsNoFailure(t *testing.T) {
	b := newBench(t, well)
	b.lacking["python/paho-mqtt@2.1.0"] = &clients.Unsupported{Missing: "no Python; apt-get install python3"}
	b.lacking["python/paho-mqtt@1.6.1"] = errors.New("pip: no network")
	p, err := NewPlan(Order{Scenarios: []Scene{{Name: "mqtt/qos-roundtrip", Protocols: []string{"mqtt3", "mqtt5"}}}, SDKs: []string{"go/paho.mqtt.golang@1.5.1", "go/paho.golang@0.23.0", "python/paho-mqtt@2.1.0", "python/paho-mqtt@1.6.1"}, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewMatrix(b.begin(p), b.work(), Limits{Jobs: 1}).Run(t.Context())
	if err != nil || c.Runs != 1 {
		t.Fatalf("%v, %+v", err, c)
	}
	states := map[string]string{}
	for _, c := range b.docs[len(b.docs)-1].Cells {
		states[c.SDK+" "+c.Protocol] = string(c.State) + ": " + c.Line
	}
	for name, says := range map[string]string{
		"go/paho.golang@0.23.0 mqtt5":     "unsupported: the embedded broker",
		"python/paho-mqtt@2.1.0 mqtt3":    "unsupported: no Python; apt-get install python3",
		"python/paho-mqtt@1.6.1 mqtt3":    "error: pip: no network",
		"go/paho.mqtt.golang@1.5.1 mqtt3": "PASS-smoke",
	} {
		if !strings.Contains(states[name], says) {
			t.Errorf("%s is %q, want %q", name, states[name], says)
		}
	}
	if len(c.Attributions) != 1 || c.Attributions[0].Cause != reports.CauseEnvironment {
		t.Errorf("%+v", c.Attributions)
	}
}

func TestWhatWasStarvedRunsAgainAlone(t *testing.T) {
	b := newBench(t, func(e Entry, attempt int) (Cell, error) {
		if strings.Contains(e.SDK, "2.1.0") && e.Protocol == "mqtt3" && attempt == 0 {
			return cell("x", fails(), starved), nil
		}
		return cell("x"), nil
	})
	p := b.plan("go/paho.mqtt.golang", "python@2.1.0")
	c, err := NewMatrix(b.begin(p), b.work(), Limits{Jobs: 4}).Run(t.Context())
	if err != nil || len(b.ran) != len(p.Entries)+1 {
		t.Fatalf("%v, %q", err, b.ran)
	}
	if last := b.ran[len(b.ran)-1]; !strings.Contains(last, "2.1.0 mqtt3") {
		t.Errorf("alone was run %s", last)
	}
	for _, a := range c.Attributions {
		if a.Cause != reports.CauseEnvironment {
			t.Errorf("a starved run is held against somebody: %+v", a)
		}
	}
	if state := b.docs[len(b.docs)-1].Cells[1].State; state.ExitCode() != 0 {
		t.Errorf("the cell is %s", state)
	}
}

func TestWhatIsStarvedAloneTooIsStarved(t *testing.T) {
	b := newBench(t, func(e Entry, _ int) (Cell, error) { return cell("x", fails(), starved), nil })
	c, err := NewMatrix(b.begin(b.plan("go/paho.mqtt.golang@1.5.1")), b.work(), Limits{Jobs: 4, Referees: 4}).Run(t.Context())
	if err != nil || len(b.ran) != 2 || c.ExitCode() != 2 {
		t.Fatalf("%v, %q, %+v", err, b.ran, c)
	}
	if state := b.docs[len(b.docs)-1].Cells[0].State; state != reports.CellStarved {
		t.Errorf("the cell is %s", state)
	}
}

func TestRefereesDecideWhatDeviates(t *testing.T) {
	b := newBench(t, func(e Entry, _ int) (Cell, error) {
		switch {
		case e.Flavor != "robustmq" || !strings.HasPrefix(e.SDK, "python/paho-mqtt"):
			return cell("x"), nil
		case slices.Contains(e.Arm, "tap"):
			return cell("x", fails("broker")), nil
		}
		return cell("x", fails()), nil
	})
	p := b.plan("go/paho.mqtt.golang", "python@2.1.0")
	c, err := NewMatrix(b.begin(p), b.work(), Limits{Jobs: 1, Referees: 12}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, cell := range b.docs[len(b.docs)-1].Cells {
		if cell.Referee != "" {
			kinds = append(kinds, cell.Referee+" "+cell.Flavor+" "+cell.Protocol)
		}
	}
	slices.Sort(kinds)
	if want := "again robustmq mqtt3,again robustmq mqtt5,control mosquitto mqtt5,control reference mqtt3,tap robustmq mqtt3,tap robustmq mqtt5"; strings.Join(kinds, ",") != want {
		t.Errorf("referees are %q", kinds)
	}
	if got := c.Attributions[0]; got.Cause != reports.CauseBroker || got.Proof != "wire" || c.ExitCode() != 1 {
		t.Errorf("%+v", c.Attributions)
	}
	few := newBench(t, b.make)
	if _, err := NewMatrix(few.begin(p), few.work(), Limits{Jobs: 1, Referees: 2}).Run(t.Context()); err != nil || len(few.ran) != len(p.Entries)+2 {
		t.Errorf("%v, %d runs of a budget of 2 more", err, len(few.ran))
	}
}

// Where every library fails and the wire is silent, the control broker decides. It is run as
// often as that takes, or once where the budget is less.
func TestRefereesOnTheControlBroker(t *testing.T) {
	for _, c := range []struct {
		budget int
		want   string
		cause  reports.Cause
	}{
		{12, "control reference,control reference,control reference,tap robustmq,tap robustmq", reports.CauseBroker},
		{2, "control reference,tap robustmq", reports.CauseUndecided},
	} {
		b := newBench(t, func(e Entry, _ int) (Cell, error) {
			if e.Flavor == "robustmq" {
				return cell("x", fails()), nil
			}
			return cell("x"), nil
		})
		p, err := NewPlan(Order{
			Scenarios: []Scene{{Name: "mqtt/qos-roundtrip", Flavor: "robustmq", Protocols: []string{"mqtt3"}}}, SDKs: []string{paho15, python2}, Seed: 7,
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewMatrix(b.begin(p), b.work(), Limits{Jobs: 1, Referees: c.budget}).Run(t.Context())
		var kinds []string
		for _, cell := range b.docs[len(b.docs)-1].Cells {
			if cell.Referee != "" {
				kinds = append(kinds, cell.Referee+" "+cell.Flavor)
			}
		}
		slices.Sort(kinds)
		if text := strings.Join(kinds, ","); err != nil || text != c.want || got.Attributions[0].Cause != c.cause {
			t.Errorf("of %d: %q, %v, %+v", c.budget, text, err, got.Attributions)
		}
	}
}

// A cell that failed in a later repetition alone has referees too, once.
func TestRefereesOfALaterRepetition(t *testing.T) {
	b := newBench(t, func(e Entry, _ int) (Cell, error) {
		if e.Flavor == "robustmq" && e.Number > 0 && e.Referee == "" {
			return cell("x", fails()), nil
		}
		return cell("x"), nil
	})
	p, err := NewPlan(Order{
		Scenarios: []Scene{{Name: "mqtt/qos-roundtrip", Flavor: "robustmq", Protocols: []string{"mqtt3"}}}, SDKs: []string{paho15}, Seed: 7, Repeat: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewMatrix(b.begin(p), b.work(), Limits{Jobs: 1, Referees: 12}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, cell := range b.docs[len(b.docs)-1].Cells {
		if cell.Referee != "" {
			kinds = append(kinds, cell.Referee+" "+cell.Flavor)
		}
	}
	slices.Sort(kinds)
	if text := strings.Join(kinds, ","); text != "control reference,tap robustmq" {
		t.Errorf("referees are %q", text)
	}
}

func TestAStoppedMatrixGoesOn(t *testing.T) {
	b := newBench(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	b.make = func(e Entry, _ int) (Cell, error) {
		if len(b.ran) == 3 { // the third is cut off
			stop()
		}
		return cell("x"), nil
	}
	p := b.plan("go", "python")
	s := b.begin(p)
	if _, err := NewMatrix(s, b.work(), Limits{Jobs: 1}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// It was killed while it wrote the next line.
	half, err := os.OpenFile(filepath.Join(s.Dir, "outcomes.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = half.WriteString(`{"entry":{"scen`)
		half.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	other := b.plan("go")
	if found, err := Unfinished(b.state, &other); err != nil || found != nil {
		t.Fatalf("another plan goes on with %v, %v", found, err)
	}
	p.Seed = 0 // was not asked for
	found, err := Unfinished(b.state, &p)
	if err != nil || found == nil || found.Plan.Seed != 7 || len(found.Done) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	before := len(b.ran)
	c, err := NewMatrix(found, b.work(), Limits{Jobs: 1}).Run(t.Context())
	if err != nil || len(b.ran)-before != len(p.Entries)-2 || c.Runs != len(p.Entries) {
		t.Fatalf("%v: ran %d of %d, 2 were done: %+v", err, len(b.ran)-before, len(p.Entries), c)
	}
	again, err := Open(s.Dir)
	if err != nil || len(again.Done) != len(p.Entries) {
		t.Errorf("%d outcomes are kept, %v", len(again.Done), err)
	}
}

// A cell is run again if the harness failed before or if its run is gone. The
// other cells are not.
func TestAStoppedMatrixTriesAgain(t *testing.T) {
	broken := true
	b := newBench(t, func(e Entry, _ int) (Cell, error) {
		if broken && strings.Contains(e.SDK, "1.5.1") {
			return Cell{}, errors.New("no network")
		}
		return cell("x"), nil
	})
	p := b.plan("go/paho.mqtt.golang", "python@2.1.0")
	s := b.begin(p)
	if _, err := NewMatrix(s, b.work(), Limits{Jobs: 1}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	last := found.Done[len(found.Done)-1]
	work, gone := b.work(), last.RunID
	read := work.Read
	work.Read = func(run string) (Cell, error) {
		if run == gone {
			return Cell{}, os.ErrNotExist
		}
		return read(run)
	}
	broken = false
	before := len(b.ran)
	c, err := NewMatrix(found, work, Limits{Jobs: 1}).Run(t.Context())
	if err != nil || len(b.ran)-before != 2 || c.Runs != len(p.Entries) || c.ExitCode() != 0 {
		t.Errorf("%v: ran %q, %+v", err, b.ran[before:], c)
	}
	again, err := Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if o, done := again.outcome(last.Entry); !done || o.RunID == gone {
		t.Errorf("what was run again is kept as %+v", o)
	}
}

// A failure without a fault is its own deviation, before all others, and evidence of
// the same failure under faults.
func TestWhatFailsWithoutAFaultComesFirst(t *testing.T) {
	b := newBench(t, func(Entry, int) (Cell, error) { return cell("x", fails(verdict.Broker)), nil })
	p, err := NewPlan(Order{
		Scenarios: []Scene{{Name: "mqtt/broker-kill-9", Flavor: "robustmq", Protocols: []string{"mqtt3"}, Faults: true}},
		SDKs:      []string{"go/paho.mqtt.golang@1.5.1"}, Controls: true, Seed: 7,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewMatrix(b.begin(p), b.work(), Limits{Jobs: 1}).Run(t.Context())
	if err != nil || len(c.Attributions) != 1 {
		t.Fatalf("%v, %+v", err, c)
	}
	only := c.Attributions[0]
	if only.NoFaults || only.Without.Failed != 1 || len(only.Runs) != 2 {
		t.Errorf("%+v", only)
	}
	if says := strings.Join(only.Evidence, "\n"); !strings.Contains(says, "it fails qos1-no-loss without any fault, too") {
		t.Errorf("the failure under faults says %q", says)
	}
}

func TestOneProcessRunsAMatrix(t *testing.T) {
	b := newBench(t, well)
	s := b.begin(b.plan("go"))
	unlock, err := s.Lock()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Lock(); err == nil || !strings.Contains(err.Error(), "is being run by another process") {
		t.Errorf("two processes run it: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Lock(); err != nil {
		t.Errorf("it stays locked: %v", err)
	}
}
