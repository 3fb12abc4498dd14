package clients_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/internal/history"
)

// nowhere counts events and keeps none.
type nowhere struct {
	n     int64
	acked chan struct{}
}

func (n *nowhere) Record(e history.Event) int64 {
	if e.Kind == history.KindPublish && e.Outcome == history.OK {
		n.acked <- struct{}{}
	}
	n.n++
	return n.n - 1
}

func (n *nowhere) Tables() history.Tables { return history.Tables{Streams: make([]history.Stream, 1)} }

// BenchmarkPublish is how fast a driver publishes QoS 1, window 100, 256
// bytes, with a broker beside it: one operation is one acknowledged message,
// recorded.
func BenchmarkPublish(b *testing.B) {
	for _, sdk := range clients.SDKs() {
		for _, protocol := range sdk.Protocols {
			b.Run(fmt.Sprintf("%s-%s/%s", sdk.Lang, sdk.Package+"@"+sdk.Version, protocol), func(b *testing.B) {
				p := client(0, protocol, mosquitto(b))
				p.Publish = &clients.Publish{
					Streams: []clients.Stream{{Stream: 0, Topic: "t", QoS: 1}}, Count: int64(b.N), PayloadBytes: 256, MaxInflight: 100,
				}
				r := &nowhere{acked: make(chan struct{}, 1024)}
				d, err := clients.Start(b.Context(), clients.Options{
					Command: provision(b, sdk), Recorder: r, Clock: history.NewClock(), Stderr: io.Discard,
					Spec: clients.Spec{Run: "testtest", Clients: []clients.Client{p}},
				})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { d.Close(); <-d.Done() }()
				b.ResetTimer()
				if err := d.Do(clients.Command{Do: "connect", Process: 0}); err != nil {
					b.Fatal(err)
				}
				for range b.N {
					select {
					case <-r.acked:
					case <-time.After(30 * time.Second):
						b.Fatal("no acknowledgement for 30 s")
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "publishes/s")
			})
		}
	}
}
