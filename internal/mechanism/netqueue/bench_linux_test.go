package netqueue_test

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// BenchmarkBulk sends bulk data over one TCP connection: without a rule, through a
// queue that keeps aggregates whole, and through a queue that takes packets as on a
// wire. It repeats the first and the last with links on which nothing is aggregated
// in the first place.
func BenchmarkBulk(b *testing.B) {
	if !hosttest.Inside(b) {
		return
	}
	l := newLab(b)
	bulk := func(b *testing.B, treatments ...netqueue.Treatment) {
		for _, t := range treatments {
			q := l.treat(b, t)
			defer func() {
				c, err := q.Counts()
				b.Logf("%+v %v", c, err)
				q.Close()
			}()
		}
		if len(treatments) == 0 {
			l.Render(b.Context(), nil)
		}
		b.ReportMetric(l.bulk(b, 2*time.Second)/1e6, "MB/s")
	}
	rare := netqueue.Treatment{Do: netqueue.Drop, Percent: 1e-9}
	b.Run("none", func(b *testing.B) { bulk(b) })
	b.Run("delay-1ms", func(b *testing.B) {
		bulk(b, netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Delay: time.Millisecond})
	})
	b.Run("as-on-a-wire", func(b *testing.B) { bulk(b, rare) })
	l.offload(b, false)
	b.Run("none-not-offloaded", func(b *testing.B) { bulk(b) })
	b.Run("as-on-a-wire-not-offloaded", func(b *testing.B) { bulk(b, rare) })
}

// BenchmarkDelay50 is the median one-way delay of 50 ms, and how long a packet
// takes on a link beside it, with the rule and without.
func BenchmarkDelay50(b *testing.B) {
	if !hosttest.Inside(b) {
		return
	}
	l := newLab(b)
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	beside := func() time.Duration {
		p, err := l.Ping(b.Context(), router.Ping{From: "witness", To: "node-2", Count: 500})
		if err != nil || p.Received == 0 {
			b.Fatal(p, err)
		}
		return median(p.RTT)
	}
	before := beside()
	q := l.treat(b, netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Delay: 50 * time.Millisecond})
	defer q.Close()
	p := l.ping(b, 1000)
	b.ReportMetric(median(p.There).Seconds()*1e3, "ms/median")
	b.ReportMetric(float64(beside()-before)/1e3, "µs/control")
}

// BenchmarkLoss10 is how many of 100,000 packets 10 percent are.
func BenchmarkLoss10(b *testing.B) {
	if !hosttest.Inside(b) {
		return
	}
	l := newLab(b)
	q := l.treat(b, netqueue.Treatment{Do: netqueue.Drop, Percent: 10, Seed: 1})
	defer q.Close()
	var sent, arrived int
	for range 20 {
		p, err := l.Ping(b.Context(), router.Ping{From: "node-1", To: "node-2", Count: 5000, Interval: 20 * time.Microsecond, Wait: 100 * time.Millisecond})
		if err != nil {
			b.Fatal(err)
		}
		sent, arrived = sent+p.Sent, arrived+p.Arrived
	}
	c, err := q.Counts()
	b.Logf("%+v %v", c, err)
	b.ReportMetric(100*float64(sent-arrived)/float64(sent), "%lost")
	b.ReportMetric(float64(sent), "packets")
}

// BenchmarkApply is how long it takes from nothing until packets are treated.
func BenchmarkApply(b *testing.B) {
	if !hosttest.Inside(b) {
		return
	}
	l := newLab(b)
	l.ping(b, 10)
	began := time.Now()
	q := l.treat(b, netqueue.Treatment{Do: netqueue.Drop, Percent: 100})
	b.ReportMetric(time.Since(began).Seconds()*1e3, "ms/apply")
	if p, err := l.Ping(b.Context(), router.Ping{From: "node-1", To: "node-2", Wait: 50 * time.Millisecond}); err != nil || p.Arrived > 0 {
		b.Error(p, err)
	}
	q.Close()
}

// bulk answers the bytes per second of one connection from node-1 to node-2.
func (l *lab) bulk(b *testing.B, during time.Duration) float64 {
	b.Helper()
	var listener net.Listener
	var conn net.Conn
	err := netns.In(l.Host(b, "node-2").NetNS(), func() (err error) {
		listener, err = net.Listen("tcp4", "0.0.0.0:5000")
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	err = netns.In(l.Host(b, "node-1").NetNS(), func() (err error) {
		conn, err = net.Dial("tcp4", l.Host(b, "node-2").Address()+":5000")
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		defer conn.Close()
		block := make([]byte, 256<<10)
		for end := time.Now().Add(during); time.Now().Before(end); {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	}()
	in, err := listener.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	began := time.Now()
	n, err := io.Copy(io.Discard, in)
	if err != nil {
		b.Error(err)
	}
	return float64(n) / time.Since(began).Seconds()
}
