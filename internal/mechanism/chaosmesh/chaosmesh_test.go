package chaosmesh

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A fakeSpace is a namespace with a Chaos Mesh that injects everything at once.
type fakeSpace struct {
	there map[string]kube.NetworkChaos
	calls []string
	stays bool // what is recovered stays
	why   string
}

func (f *fakeSpace) Inject(_ context.Context, c kube.NetworkChaos) error {
	f.calls = append(f.calls, "inject")
	f.there[c.Name] = c
	return nil
}

func (f *fakeSpace) Injected(_ context.Context, name string) (kube.Injected, error) {
	c, ok := f.there[name]
	if !ok {
		return kube.Injected{Gone: true}, nil
	}
	counts := map[string]int{}
	for _, pod := range slices.Concat(c.From, c.To) {
		counts[pod] = 1
	}
	return kube.Injected{All: f.why == "", Why: f.why, Counts: counts}, nil
}

func (f *fakeSpace) Recover(_ context.Context, name string) (kube.Injected, error) {
	f.calls = append(f.calls, "recover")
	if !f.stays {
		delete(f.there, name)
	}
	return kube.Injected{Gone: !f.stays}, nil
}

func newInjector() (*Injector, *fakeSpace, map[string]string) {
	pods := map[string]string{"node-1": "node-1-1", "node-2": "node-2-1", "subscribers-0-1": "subscribers-0-1"}
	i := New(nil, func(host string) (string, error) {
		if pod, ok := pods[host]; ok {
			return pod, nil
		}
		return "", errors.New(host + " has no pod")
	})
	space := &fakeSpace{there: map[string]kube.NetworkChaos{}}
	i.space = space
	return i, space, pods
}

// cut is a partition of one way.
func cut() router.Disturbance {
	return router.Disturbance{Fault: "f1", From: []string{"node-1"}, To: []string{"node-2"}, Addresses: []netip.Addr{netip.MustParseAddr("198.18.128.7")}, Do: router.Drop}
}

func TestRender(t *testing.T) {
	i, space, pods := newInjector()
	render := func(wanted ...router.Disturbance) {
		t.Helper()
		if err := i.Render(t.Context(), wanted); err != nil {
			t.Fatal(err)
		}
	}
	render(cut())
	render(cut())
	if !slices.Equal(space.calls, []string{"inject"}) {
		t.Fatalf("%q; the same is injected once", space.calls)
	}
	for _, c := range space.there {
		want := kube.NetworkChaos{Name: c.Name, From: []string{"node-1-1"}, To: []string{"node-2-1"}, Addresses: []string{"198.18.128.7"}, Fields: map[string]any{"action": "partition"}}
		if !reflect.DeepEqual(c, want) || c.Name[:3] != "f1-" {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	counts, why, err := i.Injected(t.Context(), "f1")
	if want := map[string]int{"node-1": 1, "node-2": 1}; !maps.Equal(counts, want) || why != "" || err != nil {
		t.Errorf("%v, %q, %v; want %v", counts, why, err, want)
	}
	if counts, _, _ := i.Injected(t.Context(), "f2"); len(counts) > 0 {
		t.Errorf("%v of another fault", counts)
	}
	pods["node-2"] = "node-2-2" // it was started again
	render(cut())
	if !slices.Equal(space.calls, []string{"inject", "inject", "recover"}) {
		t.Errorf("%q; the new pod is disturbed before the old one is left", space.calls)
	}
	space.why = "unable to set tcs"
	if _, why, _ := i.Injected(t.Context(), "f1"); why != space.why {
		t.Errorf("%q, want what Chaos Mesh says", why)
	}
	clear(space.there)
	if _, why, _ := i.Injected(t.Context(), "f1"); why == "" {
		t.Error("a NetworkChaos that somebody removed is injected")
	}
}

func TestLeft(t *testing.T) {
	i, space, _ := newInjector()
	if err := i.Render(t.Context(), []router.Disturbance{cut()}); err != nil {
		t.Fatal(err)
	}
	space.stays = true
	if err := i.Render(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := i.Left(t.Context(), "f1"); err == nil {
		t.Error("nothing is left, and the NetworkChaos is there")
	}
	if err := i.Left(t.Context(), "f2"); err != nil {
		t.Errorf("%v, of another fault", err)
	}
	space.stays = false
	if err := i.Left(t.Context(), "f1"); err != nil {
		t.Error(err)
	}
}

func TestNoPod(t *testing.T) {
	i, space, pods := newInjector()
	delete(pods, "node-2")
	if err := i.Render(t.Context(), []router.Disturbance{cut()}); err == nil || len(space.calls) > 0 {
		t.Errorf("%v, %q; want an error and no call", err, space.calls)
	}
}

func TestFields(t *testing.T) {
	treated := func(how netqueue.Treatment) router.Disturbance { return router.Disturbance{Do: router.Queue, How: how} }
	tests := []struct {
		d    router.Disturbance
		want map[string]any
	}{
		{router.Disturbance{Do: router.Reject}, map[string]any{"action": "partition", "partitionBehavior": "reject"}},
		{treated(netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Delay: 50 * time.Millisecond, Jitter: 5 * time.Millisecond}),
			map[string]any{"action": "delay", "delay": map[string]any{"latency": "50ms", "jitter": "5ms", "correlation": "0"}}},
		{treated(netqueue.Treatment{Do: netqueue.Drop, Percent: 12.5}), map[string]any{"action": "loss", "loss": map[string]any{"loss": "12.5", "correlation": "0"}}},
		{treated(netqueue.Treatment{Do: netqueue.Duplicate, Percent: 20}), map[string]any{"action": "duplicate", "duplicate": map[string]any{"duplicate": "20", "correlation": "0"}}},
		{treated(netqueue.Treatment{Do: netqueue.Corrupt, Percent: 20}), map[string]any{"action": "corrupt", "corrupt": map[string]any{"corrupt": "20", "correlation": "0"}}},
	}
	for _, test := range tests {
		if got := fields(test.d); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}

func TestLacks(t *testing.T) {
	var i Injector
	tests := []struct {
		do   router.Action
		how  netqueue.Treatment
		want bool
	}{
		{router.Drop, netqueue.Treatment{}, false},
		{router.Lose, netqueue.Treatment{}, true},
		{router.Queue, netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Jitter: time.Millisecond, Distribution: netqueue.Uniform}, false},
		{router.Queue, netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Jitter: time.Millisecond, Distribution: netqueue.Normal}, true},
		{router.Queue, netqueue.Treatment{Do: netqueue.Delay, Percent: 20}, true},
		{router.Queue, netqueue.Treatment{Do: netqueue.Drop, Percent: 10, Burst: 4}, true},
		{router.Queue, netqueue.Treatment{Do: netqueue.Corrupt, Percent: 10, Silent: true}, true},
		{router.Queue, netqueue.Treatment{Do: netqueue.Corrupt, Percent: 10}, false},
	}
	for _, test := range tests {
		if why := i.Lacks(test.do, test.how); (why != "") != test.want {
			t.Errorf("%s %+v: %q", test.do, test.how, why)
		}
	}
}
