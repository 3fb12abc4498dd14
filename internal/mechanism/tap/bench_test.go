package tap_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// BenchmarkPublish is QoS 1 publishes of 256 bytes to a mosquitto beside it,
// acknowledged, with and without the tap between: as many as go through with
// 50 outstanding, and one every 200 µs, far below that, for the latency.
func BenchmarkPublish(b *testing.B) {
	broker := mosquitto(b)
	tapped := tap.New(tap.Options{})
	b.Cleanup(func() { tapped.Close() })
	through, err := tapped.Listen("node-1", "127.0.0.1:0", broker)
	if err != nil {
		b.Fatal(err)
	}
	recorded, err := recording(b).Listen("node-1", "127.0.0.1:0", broker)
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []struct{ name, at string }{{"direct", broker}, {"tap", through}, {"recorded", recorded}} {
		b.Run("throughput/"+path.name, func(b *testing.B) {
			publish(b, path.at, 50, 0)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "publishes/s")
		})
		b.Run("latency/"+path.name, func(b *testing.B) {
			took := publish(b, path.at, 50, 200*time.Microsecond)
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// publish publishes b.N messages with a window, one every so often at most, and
// answers how long each took to be acknowledged.
func publish(b *testing.B, at string, window int, every time.Duration) []time.Duration {
	conn, err := net.Dial("tcp", at)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	connect := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	connect.ProtocolName, connect.ProtocolVersion, connect.ClientIdentifier, connect.CleanSession = "MQTT", 4, "bench", true
	connect.Write(conn)
	if _, err := packets.ReadPacket(conn); err != nil {
		b.Fatal(err)
	}
	sent, took := make([]time.Time, b.N), make([]time.Duration, b.N)
	free, done := make(chan bool, window), make(chan error, 1)
	b.ResetTimer()
	go func() {
		for i := range took {
			if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
				done <- err
				return
			}
			took[i] = time.Since(sent[i])
			<-free
		}
		done <- nil
	}()
	message := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
	header := contract.Header{Run: "run00001", QoS: 1, Kind: contract.KindMessage, Len: 256}
	message.TopicName, message.Qos, message.Payload = "bench", 1, header.Encode()
	next := time.Now()
	for i := range b.N {
		free <- true
		for every > 0 && time.Now().Before(next) { // a sleep would be as long as what is measured
		}
		next = next.Add(every)
		message.MessageID = uint16(i%60_000 + 1)
		sent[i] = time.Now()
		if err := message.Write(conn); err != nil {
			b.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	return took
}

// recording is a tap that writes down what passes.
func recording(b *testing.B) *tap.Tap {
	rec, err := history.Create(b.TempDir(), history.Options{})
	if err != nil {
		b.Fatal(err)
	}
	w := &witness{rec: rec, clock: history.NewClock()}
	t := tap.New(tap.Options{Observe: func(tap.Hello) tap.Witness { return w }})
	b.Cleanup(func() {
		t.Close()
		if err := rec.Close(); err != nil {
			b.Error(err)
		}
	})
	return t
}

// A witness does for each packet what an experiment's does.
type witness struct {
	rec     *history.Recorder
	clock   history.Clock
	payload contract.Digest
}

func (w *witness) Payload(_ tap.Direction, at, size int, part []byte) { w.payload.Add(at, size, part) }
func (w *witness) Unread(tap.Direction)                               {}
func (w *witness) End(tap.Direction)                                  {}

func (w *witness) Packet(p *tap.Packet) {
	e := history.Event{
		Time: w.clock.Now(), Kind: history.KindPacket, Via: history.ViaTap, Text: p.Kind.String(), QoS: p.QoS, ID: int64(p.ID),
		Call: history.None, Process: history.None, Node: history.None, Stream: history.None, Seq: history.None,
	}
	if p.Kind == tap.Publish {
		if h, err := w.payload.Header(); err == nil {
			e.Seq = h.Seq
		}
	}
	w.rec.Record(e)
}

func mosquitto(b *testing.B) string {
	path := hosttest.Program(b, "mosquitto")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	l.Close()
	config := filepath.Join(b.TempDir(), "mosquitto.conf")
	if err := os.WriteFile(config, []byte("listener "+port+" 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(path, "-c", config)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return address
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal("mosquitto does not listen")
	return ""
}
