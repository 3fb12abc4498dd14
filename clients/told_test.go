package clients_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

func TestToldOnceOfEachPublish(t *testing.T) {
	says := func(sdk clients.SDK) bool {
		return slices.Contains([]string{"go", "java", "python", "js"}, sdk.Lang) && !slices.Contains(sdk.Cannot, contract.CannotTold)
	}
	everyDriverThat(t, says, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		at := broker(t, protocol)
		p := publisher(0, protocol, 0, 20, at)
		p.Publish.Streams = append(p.Publish.Streams, contract.Stream{Stream: 2, Topic: "t/zero"})
		r := start(t, program, 3, p)
		r.do(t, "connect", 0)
		r.wait(t, "acknowledgements", 40, and(is(0, history.KindPublish, history.Return), ok))
		r.finish(t)
		told := map[string]int{}
		for _, e := range r.all() {
			if e.Kind == history.KindTold && e.Outcome == history.OK {
				told[fmt.Sprint(e.Stream, "/", e.Seq)]++
			}
		}
		for _, e := range r.all() {
			if message := fmt.Sprint(e.Stream, "/", e.Seq); is(0, history.KindPublish, history.Call)(e) && told[message] != 1 {
				t.Errorf("told of message %s %d times", message, told[message])
			}
		}
	})
}

// A token of paho.mqtt.golang completes when its connection is replaced: that
// is what the application is told, and no acknowledgement.
func TestATokenThatCompletesOnReconnect(t *testing.T) {
	paho := func(sdk clients.SDK) bool { return sdk.Package == "paho.mqtt.golang" }
	everyDriverThat(t, paho, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		r := start(t, program, 2, publisher(0, protocol, 0, 50, mute(t, protocol)))
		r.do(t, "connect", 0)
		r.wait(t, "false acknowledgement", 1, func(e history.Event) bool {
			return e.Kind == history.KindTold && e.Outcome == history.OK
		})
		if n := r.count(and(is(0, history.KindPublish, history.Return), ok)); n != 0 {
			t.Errorf("%d publishes are ok; the broker acknowledged none", n)
		}
	})
}
