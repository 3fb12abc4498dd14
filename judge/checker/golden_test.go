package checker

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// Every later version must judge a run the same, down to the byte: verify compares the
// verdict of a stored run with a new one. A change that means to judge otherwise bumps
// its checker's version, and updates these files.
func TestJudgedTheSameForEver(t *testing.T) {
	for name, s := range map[string]*story{
		"healthy": healthy(), "load": load(12_000, whole), "correct-1": correct(1), "correct-2": correct(2),
		"misfortune": misfortune(), "torn": torn(),
	} {
		t.Run(name, func(t *testing.T) {
			claims := names()
			if name != "misfortune" { // a new claim changes one golden; others tell of the old ones
				claims = storedClaims(t, name)
			}
			golden(t, name, judgedFromDisk(t, s, claims...))
		})
	}
}

// storedClaims are the claims that a golden has results of.
func storedClaims(t *testing.T, name string) (claims []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Results []struct{ Claim struct{ Name string } }
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	for _, r := range stored.Results {
		claims = append(claims, r.Claim.Name)
	}
	return claims
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("(-stored +now); `go test ./judge/checker -update` stores a change that is meant\n%s", diff)
	}
}

// misfortune has something of everything: each claim fails in it.
func misfortune() *story {
	s := newStory()
	s.connect(pub, false).join(sub, other, fleet).phase("steady")
	for seq := range int64(16) {
		for _, st := range []int32{q0, q1, q2, q1b} {
			s.publish(st, seq, []history.Outcome{history.OK, history.OK, history.OK, history.Info}[seq%4])
			for _, p := range []int32{sub, other, fleet} {
				s.fate(p, st, seq)
			}
		}
		if seq == 8 {
			s.phase("fault").fault(20 * time.Second).disconnect(sub).wait(9 * time.Second)
			s.connect(sub, false).subscribe(sub).heal().phase("recovery")
		}
	}
	s.publish(reg, 0, history.OK).fetch(reg, 0).publish(reg, 1, history.OK).fetch(reg, 0)
	s.observe(history.ObservePanic, history.None, 0, 12).observe(history.ObserveStarved, history.None, history.None, 0.5)
	s.join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0).wait(11 * time.Second)
	s.phase("drain")
	for _, st := range []int32{q1, q2, q1b} {
		s.marker(st, 16, history.OK).deliver(sub, st, 16, history.FlagEnd).deliver(other, st, 16, history.FlagEnd)
	}
	return s.finish()
}

// fate decides what becomes of one message on its way to one process.
func (s *story) fate(p, st int32, seq int64) {
	switch (int64(p)*7 + int64(st)*5 + seq) % 17 {
	case 0: // lost
	case 1:
		s.deliver(p, st, seq).deliver(p, st, seq)
	case 2:
		s.deliver(p, st, seq).deliver(p, st, seq, history.FlagDup)
	case 3:
		s.deliver(p, st, seq+1)
	case 4:
		s.deliver(p, st, seq, history.FlagCorrupt)
	case 5:
		s.deliver(p, history.None, history.None, history.FlagForeign)
	case 6:
		s.deliver(p, st, seq+100)
	case 7:
		s.deliver(p, st, max(0, seq-3), history.FlagRetain)
	case 8:
		s.deliver(p, probed, seq)
	default:
		s.deliver(p, st, seq)
	}
}

// torn is a run whose subscriber's driver never ended.
func torn() *story {
	s := newStory()
	s.connect(pub, false).join(sub).phase("steady").acked(q1, 0, 30).delivered(sub, q1, 0, 20)
	return s
}
