package reference

import (
	"fmt"
	"io"
	"runtime"

	"github.com/nats-io/nats-server/v2/server"
)

// writeMetrics writes the node's figures as Prometheus text.
func writeMetrics(w io.Writer, s *server.Server) error {
	v, err := s.Varz(nil)
	if err != nil {
		return fmt.Errorf("read the server's figures: %w", err)
	}
	js, err := s.Jsz(nil)
	if err != nil {
		return fmt.Errorf("read JetStream's figures: %w", err)
	}
	gauges := []struct {
		name, kind string
		value      float64
	}{
		{"nats_connections", "gauge", float64(v.Connections)},
		{"nats_connections_total", "counter", float64(v.TotalConnections)},
		{"nats_routes", "gauge", float64(v.Routes)},
		{"nats_subscriptions", "gauge", float64(v.Subscriptions)},
		{"nats_slow_consumers_total", "counter", float64(v.SlowConsumers)},
		{"nats_in_msgs_total", "counter", float64(v.InMsgs)},
		{"nats_out_msgs_total", "counter", float64(v.OutMsgs)},
		{"nats_in_bytes_total", "counter", float64(v.InBytes)},
		{"nats_out_bytes_total", "counter", float64(v.OutBytes)},
		{"nats_memory_bytes", "gauge", float64(v.Mem)},
		{"nats_cpu_percent", "gauge", v.CPU},
		{"nats_goroutines", "gauge", float64(runtime.NumGoroutine())},
		{"nats_jetstream_streams", "gauge", float64(js.Streams)},
		{"nats_jetstream_consumers", "gauge", float64(js.Consumers)},
		{"nats_jetstream_messages", "gauge", float64(js.Messages)},
		{"nats_jetstream_bytes", "gauge", float64(js.Bytes)},
		{"nats_jetstream_api_errors_total", "counter", float64(js.API.Errors)},
		{"nats_raft_meta_leader", "gauge", flag01(s.JetStreamIsLeader())},
		{"nats_raft_messages_leader", "gauge", flag01(s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, MessageStream))},
	}
	for _, g := range gauges {
		if _, err := fmt.Fprintf(w, "# TYPE %s %s\n%s %g\n", g.name, g.kind, g.name, g.value); err != nil {
			return err
		}
	}
	return nil
}

func flag01(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
