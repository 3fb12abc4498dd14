package checker

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A soak is an even load on two nodes, with the amount of each quantity that they take
// after so many seconds. Quantities without a function stay even, and anonymous memory
// is then not read.
type soak struct {
	lasts time.Duration
	stood time.Duration // when the host stood still for two seconds; 0: it did not
	takes map[string]func(node int16, at float64) float64
}

func (k soak) at(name string, node int16, at, otherwise float64) float64 {
	if f := k.takes[name]; f != nil {
		return f(node, at)
	}
	return otherwise
}

// steadyBudget is the budget of the stories of soaks.
var steadyBudget = history.Growth{MemoryMiB: 60, Descriptors: 100, Connections: 60, LatencyPercent: 100}

// tell tells a soak in some hundred steps: a publish of QoS 1 through each node,
// and the readings of both.
func (k soak) tell() *story {
	s := newStory()
	s.run.Claims = []string{"steady-resources"}
	s.run.Budget.Growth = steadyBudget
	s.connect(pub, false).phase("steady")
	step := max(time.Second, k.lasts/400)
	for i := range int64(k.lasts / step) {
		at, next := (time.Duration(i) * step).Seconds(), s.now+step
		for n := range int16(2) {
			e := s.publishing(q1, i*2+int64(n))
			e.Node = n
			c := s.call(e)
			s.wait(time.Duration(k.at("latency", n, at, 3) * 1e6))
			s.ret(e, c, history.OK)
			s.observe(history.ObserveMemory, history.None, n, k.at("memory", n, at, 300)*(1<<20))
			if anonymous := k.takes["anonymous"]; anonymous != nil {
				s.observe(history.ObserveAnonymous, history.None, n, anonymous(n, at)*(1<<20))
			}
			s.observe(history.ObserveDescriptors, history.None, n, k.at("descriptors", n, at, 90))
			s.observe(history.ObserveConnections, history.None, n, k.at("connections", n, at, 10))
		}
		if s.now = max(s.now, next); k.stood > 0 && s.now > k.stood {
			s.observe(history.ObserveStarved, history.None, history.None, 2)
			k.stood = 0
		}
	}
	return s.phase("recovery").finish()
}

func TestSteady(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	type takes = map[string]func(int16, float64) float64
	for _, test := range []struct {
		name  string
		lasts time.Duration
		takes takes
		want  verdict.Status
		text  string // in the first anomaly, in a reason, or in the summary
	}{
		{"nothing grows", 30 * time.Minute, nil, pass, "such a run tells growth from none from this on: memory 0 MiB/h"},
		{"memory of one node", 30 * time.Minute, takes{"memory": func(n int16, at float64) float64 { return 300 + float64(n)*at*0.1 }},
			fail, "memory of node-2 grew by 360 MiB/h (99 % confidence: 360 MiB/h to 360 MiB/h), budget 60 MiB/h; from 353 MiB to 471 MiB"},
		{"descriptors", 30 * time.Minute, takes{"descriptors": func(_ int16, at float64) float64 { return 90 + at/5 }},
			fail, "descriptors of node-1 grew by 720/h"},
		{"connections", 30 * time.Minute, takes{"connections": func(_ int16, at float64) float64 { return 10 + math.Floor(at/20) }},
			fail, "connections of node-1 grew by 180/h"},
		{"latency", 30 * time.Minute, takes{"latency": func(n int16, at float64) float64 { return 3 + float64(n)*at/60 }},
			fail, "latency of node-2 grew by"},
		{"latency of one node among some that grow", 30 * time.Minute, takes{"latency": func(n int16, at float64) float64 { return 30 + float64(1+9*n)*at/60 }},
			fail, "latency of node-2 grew by"},
		{"latency of all alike", 30 * time.Minute, takes{"latency": func(_ int16, at float64) float64 { return 3 + at/60 }},
			unknown, "but no other node is seen to have grown less by more than the budget"},
		{"mapped files", 30 * time.Minute, takes{"memory": func(_ int16, at float64) float64 { return 300 + at }, "anonymous": func(int16, float64) float64 { return 200 }}, pass, ""},
		{"anonymous memory, and files that are given up", 30 * time.Minute, takes{"anonymous": func(_ int16, at float64) float64 { return 100 + at/10 }},
			fail, "memory of node-1 grew by 360 MiB/h"},
		{"connections of a wrong port", 30 * time.Minute, takes{"connections": func(int16, float64) float64 { return 0 }},
			unknown, "connections of node-1 was read as 0 throughout"},
		{"descriptors of another namespace", 30 * time.Minute, takes{"descriptors": func(n int16, _ float64) float64 { return float64(90 * (1 - n)) }},
			unknown, "descriptors of node-2 was read as 0 throughout"},
		{"memory that is none", 30 * time.Minute, takes{"memory": func(int16, float64) float64 { return 0 }},
			unknown, "memory of node-1 was read as 0 throughout"},
		{"a connection now and then", 30 * time.Minute, takes{"connections": func(_ int16, at float64) float64 {
			if int(at)%5 == 0 {
				return 1
			}
			return 0
		}}, pass, ""},
		{"memory within the budget", 30 * time.Minute, takes{"memory": func(_ int16, at float64) float64 { return 300 + at*0.015 }}, pass, ""},
		{"faster than the budget, and too little to count", 2 * time.Minute, takes{"memory": func(_ int16, at float64) float64 { return 300 + at*0.1 }}, pass, ""},
		{"a warm-up", 30 * time.Minute, takes{"memory": func(_ int16, at float64) float64 { return 300 + min(at, 400) }}, pass, ""},
		{"one low step", 30 * time.Minute, takes{"memory": func(_ int16, at float64) float64 { return 300 + 3*math.Floor(at/1000) }}, pass, ""},
		{"one high step", 30 * time.Minute, takes{"memory": func(_ int16, at float64) float64 { return 300 + 200*math.Floor(at/1000) }}, unknown, "memory of node-1 may grow by up to"},
		{"outliers", 30 * time.Minute, takes{"memory": func(_ int16, at float64) float64 {
			if int(at)%7 == 0 {
				return 9000 + at
			}
			return 300
		}}, pass, ""},
		{"a collector's sawtooth", 2 * time.Hour, takes{"memory": func(_ int16, at float64) float64 { return 300 + math.Mod(at, 47) }}, pass, ""},
		{"a leak under a collector's sawtooth", 2 * time.Hour, takes{"memory": func(_ int16, at float64) float64 { return 300 + math.Mod(at, 47) + at*0.05 }},
			fail, "memory of node-1 grew by 18"},
		{"it shrinks", 30 * time.Minute, takes{"memory": func(_ int16, at float64) float64 { return 900 - at*0.3 }}, pass, ""},
		{"a few seconds", 20 * time.Second, nil, unknown, "has to be 3 times in each of 8 parts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := judgeStory(t, soak{lasts: test.lasts, takes: test.takes}.tell()).Results[0]
			if r.Status != test.want || len(r.Trends) != 8 {
				t.Errorf("status %s, want %s, with 8 trends: %s %v %+v", r.Status, test.want, r.Summary, r.Reasons, r.Trends)
			}
			if !strings.Contains(said(r)+r.Summary, test.text) {
				t.Errorf("it says %q, which lacks %q", said(r)+r.Summary, test.text)
			}
			if test.want != unknown && !r.Canary.Red {
				t.Errorf("its canary stayed green: %+v", r.Canary)
			}
		})
	}
}

func TestSteadyHasNothingToGoBy(t *testing.T) {
	for want, change := range map[string]func(*story){
		"sets no bound on growth": func(s *story) { s.run.Budget.Growth = history.Growth{} },
		"no steady phase began":   func(s *story) { s.forget(func(e history.Event) bool { return e.Kind == history.KindPhase }) },
		"see whether get_metrics has process_fds": func(s *story) {
			s.forget(func(e history.Event) bool { return e.Node == 1 && e.Text == history.ObserveDescriptors })
		},
		"see whether get_metrics has process_memory_bytes": func(s *story) {
			s.forget(func(e history.Event) bool { return e.Node == 1 && e.Text == history.ObserveMemory })
		},
		"publish with QoS 1 or 2": func(s *story) {
			s.forget(func(e history.Event) bool { return e.Node == 0 && e.Kind == history.KindPublish })
		},
	} {
		s := soak{lasts: 10 * time.Minute}.tell()
		change(s)
		if r := judgeStory(t, s).Results[0]; r.Status != verdict.Unknown || !strings.Contains(strings.Join(r.Reasons, " "), want) {
			t.Errorf("%s: %s %v", want, r.Status, r.Reasons)
		}
	}
}

// A host that stood still explains latency, where it did while that was judged, and
// nothing else.
func TestSteadyOnAHostThatStoodStill(t *testing.T) {
	slow := map[string]func(int16, float64) float64{"latency": func(n int16, at float64) float64 { return 3 + float64(n)*at/60 }}
	large := map[string]func(int16, float64) float64{"memory": func(n int16, at float64) float64 { return 300 + float64(n)*at/10 }}
	for _, test := range []struct {
		name  string
		stood time.Duration
		takes map[string]func(int16, float64) float64
		want  verdict.Status
		text  string
	}{
		{"meanwhile", 20 * time.Minute, slow, verdict.Unknown, "the host kept everything from running for 2.000 s at"},
		{"in the warm-up", 5 * time.Minute, slow, verdict.Fail, "latency of node-2 grew by"},
		{"memory grew", 20 * time.Minute, large, verdict.Fail, "memory of node-2 grew by"},
	} {
		r := judgeStory(t, soak{30 * time.Minute, test.stood, test.takes}.tell()).Results[0]
		if r.Status != test.want || !strings.Contains(said(r), test.text) || !r.Canary.Red {
			t.Errorf("%s: %s: %s %v", test.name, r.Status, r.Summary, r.Reasons)
		}
	}
}

// A result that is too short to tell names the tier that tells more.
func TestSteadySaysWhatIsLonger(t *testing.T) {
	for tier, want := range map[string]string{
		"smoke": "run it with --tier hardening or release", "hardening": "run it with --tier release", "release": "give its tier release a longer steady_s",
	} {
		step := map[string]func(int16, float64) float64{"memory": func(_ int16, at float64) float64 { return 300 + 200*math.Floor(at/1000) }}
		for _, s := range []*story{soak{lasts: 20 * time.Second}.tell(), soak{lasts: 30 * time.Minute, takes: step}.tell()} {
			s.run.Tier = tier
			if r := judgeStory(t, s).Results[0]; r.Status != verdict.Unknown || !strings.HasSuffix(r.Reasons[0], want) {
				t.Errorf("%s: %s %v, want %q at the end", tier, r.Status, r.Reasons, want)
			}
		}
	}
}

// A quantity without a budget is shown, whatever it does, and not judged.
func TestSteadyWithoutBudget(t *testing.T) {
	s := soak{lasts: 10 * time.Minute, takes: map[string]func(int16, float64) float64{"latency": func(_ int16, at float64) float64 { return 3 + at }}}.tell()
	s.run.Budget.Growth.LatencyPercent = 0
	r := judgeStory(t, s).Results[0]
	if last := r.Trends[7]; r.Status != verdict.Pass || r.Judged != 6 || last.Status != "" || last.Slope < 100 {
		t.Errorf("%s, %d judged: %s %+v", r.Status, r.Judged, r.Summary, last)
	}
}

// forget turns rows into ones that mean nothing here.
func (s *story) forget(drop func(history.Event) bool) {
	for i, e := range s.events {
		if drop(e) {
			s.events[i].Kind, s.events[i].Text = history.KindResume, ""
		}
	}
}

// Rows of drivers come late: an acknowledgement recorded after the end of the
// steady phase counts for when it was.
func TestSteadyTakesWhatComesLate(t *testing.T) {
	s := soak{lasts: 10 * time.Minute, takes: map[string]func(int16, float64) float64{"latency": func(n int16, at float64) float64 { return 3 + float64(n)*at/10 }}}.tell()
	var late, rest []history.Event
	for _, e := range s.events {
		if e.Kind == history.KindPublish && e.Edge == history.Return {
			late = append(late, e)
		} else {
			rest = append(rest, e)
		}
	}
	s.events = append(rest, late...)
	if r := judgeStory(t, s).Results[0]; r.Status != verdict.Fail || !strings.Contains(said(r), "latency of node-2 grew") {
		t.Errorf("%s: %s %v", r.Status, r.Summary, r.Reasons)
	}
}

// A soak with one quantity that grows, one that cannot be told, and others.
func TestSteadyIsJudgedTheSameForEver(t *testing.T) {
	s := soak{lasts: 10 * time.Minute, takes: map[string]func(int16, float64) float64{
		"memory":      func(n int16, at float64) float64 { return 300 + float64(n)*at/4 },
		"descriptors": func(n int16, at float64) float64 { return 90 + 40*math.Floor(at/300)*float64(n) },
		"latency":     func(_ int16, at float64) float64 { return 3 + math.Mod(at, 7)/2 },
	}}.tell()
	golden(t, "soak", judgeStory(t, s))
}

// How often slopes are accused that are none, and found that are, over many
// series of a soak's length. The shares are those that slopeOf states, with room
// for 1,000 draws.
func TestSlopesOfChance(t *testing.T) {
	const series, samples = 1000, 160
	type process func(rng *rand.Rand) func() float64
	noise := func(rng *rand.Rand) func() float64 { return rng.NormFloat64 }
	walk := func(rng *rand.Rand) func() float64 {
		v := 0.0
		return func() float64 { v += rng.NormFloat64(); return v }
	}
	pull := func(rho float64) process {
		return func(rng *rand.Rand) func() float64 {
			v := 0.0
			return func() float64 { v = rho*v + rng.NormFloat64(); return v }
		}
	}
	spikes := func(rng *rand.Rand) func() float64 {
		return func() float64 { return rng.NormFloat64() / math.Abs(rng.NormFloat64()) } // Cauchy's
	}
	steps := func(rng *rand.Rand) func() float64 {
		v := 0.0
		return func() float64 {
			if rng.IntN(20) == 0 {
				v += rng.NormFloat64()
			}
			return v
		}
	}
	for _, test := range []struct {
		name    string
		of      process
		growth  float64 // of each sample
		atLeast float64 // accused
		atMost  float64
	}{
		{"noise", noise, 0, 0, 0.003},
		{"noise that lingers", pull(0.9), 0, 0, 0.005},
		{"noise that lingers long", pull(0.99), 0, 0, 0.02},
		{"outliers", spikes, 0, 0, 0.003},
		{"a random walk", walk, 0, 0, 0.025},
		{"random steps", steps, 0, 0, 0.025},
		{"growth in noise", noise, 0.1, 0.99, 1},
		{"growth in lingering noise", pull(0.9), 0.4, 0.95, 1},
		{"growth in outliers", spikes, 0.2, 0.95, 1},
		{"growth in a random walk", walk, 0.7, 0.95, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 7))
			accused := 0
			for range series {
				next, list := test.of(rng), make([]reading, samples)
				for i := range list {
					list[i] = reading{int64(i), next() + float64(i)*test.growth}
				}
				if s, ok := slopeOf(list, 0, samples); !ok {
					t.Fatal("too few samples")
				} else if s.low > 0 {
					accused++
				}
			}
			if share := float64(accused) / series; share < test.atLeast || share > test.atMost {
				t.Errorf("%.2f %% accused, want %.1f to %.1f %%", 100*share, 100*test.atLeast, 100*test.atMost)
			} else {
				t.Logf("%.2f %% accused", 100*share)
			}
		})
	}
}
