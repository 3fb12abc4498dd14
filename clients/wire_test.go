package clients_test

import (
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// At QoS 2 an SDK writes PUBLISH and PUBREL from two sides at once. A broker
// closes a connection on which they mix.
func TestPacketsDoNotMix(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		p := client(0, protocol, mosquitto(t))
		p.Publish = &contract.Publish{
			Streams: []contract.Stream{{Stream: 0, Topic: "t", QoS: 2}}, Count: 3000, PayloadBytes: 256, MaxInflight: 20,
		}
		r := start(t, program, 1, p)
		r.do(t, "connect", 0)
		r.wait(t, "acknowledgements", 3000, and(is(0, history.KindPublish, history.Return), ok))
		for _, e := range r.all() {
			if e.Kind == history.KindDisconnect {
				t.Errorf("the broker closed the connection: %s", e.Text)
			}
		}
		r.finish(t)
	})
}
