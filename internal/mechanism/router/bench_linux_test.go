package router

import (
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// benchEnv is set in the copy that runs benchmarks.
const benchEnv = "RMQ_TEST_ROUTER_BENCH"

// TestMain runs benchmarks in namespaces of their own, all of them together.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" || os.Getenv(benchEnv) != "" {
		os.Exit(hosttest.Alone(m))
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), benchEnv+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks in a network namespace:", err)
		os.Exit(1)
	}
}

// From the call that cuts a link to the last packet that passes: less than
// 20 ms.
func BenchmarkCut(b *testing.B) {
	s := newStar(b, 2)
	s.echo(b, "node-2")
	c := s.mustConnect(b, "udp", "node-1", "node-2")
	var last atomic.Int64
	go func() {
		for buf := make([]byte, 64); ; {
			if _, err := c.Read(buf); err != nil {
				return
			}
			last.Store(time.Now().UnixNano())
		}
	}()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for tick := time.NewTicker(50 * time.Microsecond); ; {
			select {
			case <-tick.C:
				c.Write([]byte("x"))
			case <-stop:
				tick.Stop()
				return
			}
		}
	}()
	var total, worst time.Duration
	for b.Loop() {
		b.StopTimer()
		s.render(b)
		for from := time.Now(); last.Load() < from.UnixNano(); time.Sleep(time.Millisecond) {
		}
		b.StartTimer()
		began := time.Now()
		s.render(b, Rule{Fault: "f1", Do: Drop, Links: both("node-1", "node-2")})
		b.StopTimer()
		time.Sleep(5 * time.Millisecond) // what was under way has come
		took := max(0, time.Duration(last.Load()-began.UnixNano()))
		total, worst = total+took, max(worst, took)
		b.StartTimer()
	}
	b.ReportMetric(total.Seconds()*1e3/float64(b.N), "ms-to-effect")
	b.ReportMetric(worst.Seconds()*1e3, "ms-worst")
}

// A round trip with rules on another link: at most 50 µs more than with none.
func BenchmarkControlPath(b *testing.B) {
	for _, rules := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			s := newStar(b, 3)
			s.echo(b, "node-2")
			c := s.mustConnect(b, "udp", "node-1", "node-2")
			var all []Rule
			for i := range rules {
				all = append(all, Rule{Fault: fmt.Sprintf("f%d", i+1), Do: Drop, Links: both("node-1", "node-3")})
			}
			s.render(b, all...)
			roundTrips(b, c)
		})
	}
}

// A round trip through a link of which rules match every packet and let it pass.
func BenchmarkMatchedPath(b *testing.B) {
	s := newStar(b, 2)
	s.echo(b, "node-2")
	c := s.mustConnect(b, "udp", "node-1", "node-2")
	s.render(b, Rule{Fault: "f1", Do: Drop, Ports: []uint16{1}, Links: both("node-1", "node-2")})
	roundTrips(b, c)
}

func roundTrips(b *testing.B, c net.Conn) {
	if err := talks(c, hosttest.Bound); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := talks(c, hosttest.Bound); err != nil {
			b.Fatal(err)
		}
	}
}

// A network for three nodes up and down: less than a second each.
func BenchmarkStar(b *testing.B) {
	var up, down time.Duration
	for b.Loop() {
		began := time.Now()
		s := newStarNow(b, 3)
		up += time.Since(began)
		began = time.Now()
		s.down(b)
		down += time.Since(began)
	}
	b.ReportMetric(up.Seconds()*1e3/float64(b.N), "ms-up")
	b.ReportMetric(down.Seconds()*1e3/float64(b.N), "ms-down")
}

func BenchmarkPing(b *testing.B) {
	s := newStar(b, 2)
	for b.Loop() {
		if p, err := s.Ping(b.Context(), Ping{From: "node-1", To: "node-2", Count: 1}); err != nil || p.Received != 1 {
			b.Fatalf("%+v, %v", p, err)
		}
	}
}

// Ten percent of 100,000 packets: within three standard deviations.
func BenchmarkLose(b *testing.B) {
	const n, percent = 100_000, 10
	deviation := math.Sqrt(n * percent / 100 * (100 - percent) / 100)
	s := newStar(b, 2)
	s.render(b, Rule{Fault: "f1", Do: Lose, Percent: percent, Links: both("node-1", "node-2")[:1]})
	var worst float64
	for b.Loop() {
		p, err := s.Ping(b.Context(), Ping{From: "node-1", To: "node-2", Count: n, Interval: 20 * time.Microsecond})
		if err != nil {
			b.Fatal(err)
		}
		worst = max(worst, math.Abs(float64(p.Sent-p.Arrived)-n*percent/100)/deviation)
	}
	b.ReportMetric(worst, "deviations-off")
}
