package clients_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestBench(t *testing.T) {
	hosttest.Long(t, "it measures for seconds")
	for _, protocol := range []string{contract.MQTT3, contract.MQTT5} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			sdk, err := clients.ResolveFor("go", protocol)
			if err != nil {
				t.Fatal(err)
			}
			var c wireCounts
			var told []string
			p, err := clients.Bench(t.Context(), clients.Benchmark{
				Trial: clients.Trial{Program: provision(t, sdk), SDK: sdk, Protocol: protocol, Target: clients.Target{Endpoint: broker(t, protocol)}},
				For:   4 * clients.BenchTurn, Progress: func(text string) { told = append(told, text) },
				Observe: func(*history.Recorder, history.Clock, string) func(tap.Hello) tap.Witness { return c.client },
			})
			if err != nil {
				t.Fatal(err)
			}
			if p.Full.Tapped == nil || p.Half.Tapped == nil {
				t.Fatalf("not through the tap: %+v", p)
			}
			for _, pace := range []clients.Pace{p.Full.Direct, *p.Full.Tapped, p.Half.Direct, *p.Half.Tapped} {
				if pace.PerS <= 0 || pace.P50US <= 0 || pace.P99US < pace.P50US {
					t.Errorf("%+v", pace)
				}
			}
			// A pace makes up for 100 ms of a turn of 250 at most.
			if full, half := p.Full.Direct.PerS, p.Half.Direct.PerS; half > 0.9*full {
				t.Errorf("half of %.0f/s is %.0f/s", full, half)
			}
			if len(told) != 2 {
				t.Errorf("told %q", told)
			}
			// One client of the two at each rate.
			if c.clients != 2 || c.packets[tap.Publish] == 0 || c.packets[tap.Puback] == 0 {
				t.Errorf("of %d clients passed the tap: %v", c.clients, c.packets)
			}
		})
	}
}

// wireCounts counts what a tap tells.
type wireCounts struct {
	mu      sync.Mutex
	clients int
	packets map[tap.Type]int
}

func (c *wireCounts) client(tap.Hello) tap.Witness {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients++
	if c.packets == nil {
		c.packets = map[tap.Type]int{}
	}
	return c
}

func (c *wireCounts) Packet(p *tap.Packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.packets[p.Kind]++
}

func (*wireCounts) Payload(tap.Direction, int, int, []byte) {}
func (*wireCounts) Unread(tap.Direction)                    {}
func (*wireCounts) End(tap.Direction)                       {}

// TestBenchSaysWhatIsWrong is of drivers that cannot be measured: each is told
// in a bounded time.
func TestBenchSaysWhatIsWrong(t *testing.T) {
	sdk, err := clients.ResolveFor("go", contract.MQTT3)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		program clients.Program
		want    string
	}{
		"refused":            {provision(t, sdk), "as fast as it goes: connect is fail: "},
		"hang":               {fake("hang"), "wait for an acknowledgement: not within "},
		"blocks on connect":  {fake("blocks on connect"), "wait for an acknowledgement: not within "},
		"dies":               {fake("dies"), "exit status 3"},
		"crash before hello": {fake("crash before hello"), "ImportError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try := clients.Trial{Program: c.program, SDK: sdk, Protocol: contract.MQTT3, Target: clients.Target{Endpoint: freeAddress(t)}, Wait: 300 * time.Millisecond}
			if name == "refused" || name == "dies" || name == "crash before hello" {
				try.Wait = 0
			}
			p, err := clients.Bench(t.Context(), clients.Benchmark{Trial: try, For: 100 * time.Millisecond})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if p.Full.Direct.PerS != 0 {
				t.Errorf("measured %+v", p)
			}
		})
	}
}
