package chaosmesh

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A fakeSpace is a namespace with a Chaos Mesh that injects everything at once, unless it is told
// otherwise.
type fakeSpace struct {
	there map[string]kube.NetworkChaos
	calls []string // with the pod of each
	stays bool     // what is recovered stays
	late  bool     // it injects nothing
	err   error    // of Inject
}

func (f *fakeSpace) Inject(_ context.Context, c kube.NetworkChaos) error {
	f.calls = append(f.calls, "inject "+c.Pod)
	f.there[c.Name] = c
	return f.err
}

func (f *fakeSpace) Injected(_ context.Context, name string) (is kube.Injected, err error) {
	_, ok := f.there[name]
	return kube.Injected{Gone: !ok, Done: ok && !f.late}, nil
}

func (f *fakeSpace) Recover(_ context.Context, name string) (kube.Injected, error) {
	f.calls = append(f.calls, "recover "+f.there[name].Pod)
	if !f.stays {
		delete(f.there, name)
	}
	return kube.Injected{Gone: !f.stays}, nil
}

// made are the calls since the last time, in the order of their names.
func (f *fakeSpace) made() []string {
	defer func() { f.calls = nil }()
	return slices.Sorted(slices.Values(f.calls))
}

func newInjector() (*Injector, *fakeSpace, map[string]string) {
	pods := map[string]string{"node-1": "node-1-1", "node-2": "node-2-1"}
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

var (
	own  = netip.MustParseAddr("198.18.16.2")
	lead = netip.MustParseAddr("198.18.128.7")
)

// cut is what node-1 sends to others, and what node-2 does.
func cut(fault string) router.Disturbance {
	return router.Disturbance{Fault: fault, Do: router.Drop, From: map[string][]netip.Addr{"node-1": {own, lead}, "node-2": {own}}}
}

func TestRender(t *testing.T) {
	i, space, pods := newInjector()
	render := func(want []string, wanted ...router.Disturbance) {
		t.Helper()
		if err := i.Render(t.Context(), wanted); err != nil {
			t.Error(err)
		}
		if calls := space.made(); !slices.Equal(calls, want) {
			t.Errorf("%q, want %q", calls, want)
		}
	}
	render([]string{"inject node-1-1", "inject node-2-1"}, cut("f1"))
	render(nil, cut("f1"))
	for _, c := range space.there {
		want := kube.NetworkChaos{Name: c.Name, Pod: "node-1-1", To: []string{"198.18.16.2", "198.18.128.7"}, Fields: map[string]any{"action": "partition"}}
		if c.Pod == "node-1-1" && !reflect.DeepEqual(c, want) {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	hosts, err := i.Injected(t.Context(), "f1")
	if want := map[string]string{"node-1": "", "node-2": ""}; !maps.Equal(hosts, want) || err != nil {
		t.Errorf("%q, %v; want %q", hosts, err, want)
	}
	if hosts, _ := i.Injected(t.Context(), "f2"); len(hosts) > 0 {
		t.Errorf("%v of another fault", hosts)
	}
	pods["node-2"] = "node-2-2" // it was started again
	render([]string{"inject node-2-2", "recover node-2-1"}, cut("f1"))
	for name := range space.there { // somebody removes one
		delete(space.there, name)
		break
	}
	hosts, _ = i.Injected(t.Context(), "f1")
	if !strings.Contains(hosts["node-1"]+hosts["node-2"], "rmq-mcp did not remove it") {
		t.Errorf("%q", hosts)
	}
}

// The old NetworkChaos stays until Chaos Mesh has injected the next one, or the time for that is over.
func TestReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, space, pods := newInjector()
		if err := i.Render(t.Context(), []router.Disturbance{cut("f1")}); err != nil {
			t.Fatal(err)
		}
		pods["node-2"], space.late = "node-2-2", true
		space.made()
		began := time.Now()
		go i.Render(t.Context(), []router.Disturbance{cut("f1")})
		time.Sleep(time.Second)
		if calls := space.made(); !slices.Equal(calls, []string{"inject node-2-2"}) {
			t.Errorf("before it is injected: %q", calls)
		}
		if hosts, _ := i.Injected(t.Context(), "f1"); hosts["node-2"] == "" {
			t.Error("a pod that is not disturbed counts as injected")
		}
		space.late = false
		synctest.Wait()
		time.Sleep(time.Second)
		if calls := space.made(); !slices.Equal(calls, []string{"recover node-2-1"}) || time.Since(began) > injectBound {
			t.Errorf("after that: %q", calls)
		}
	})
}

// A fault that could not be shown is tried again, and others are healed meanwhile.
func TestRenderFails(t *testing.T) {
	i, space, pods := newInjector()
	if err := i.Render(t.Context(), []router.Disturbance{cut("f1")}); err != nil {
		t.Fatal(err)
	}
	space.made()
	space.err = errors.New("the API server is away")
	if err := i.Render(t.Context(), []router.Disturbance{cut("f2")}); err == nil {
		t.Error("no error")
	}
	if calls := space.made(); !slices.Equal(calls, []string{"inject node-1-1", "inject node-2-1", "recover node-1-1", "recover node-2-1"}) {
		t.Errorf("%q", calls)
	}
	space.err = nil
	if err := i.Render(t.Context(), nil); err != nil || len(space.there) > 0 {
		t.Errorf("%v; left: %v", err, space.there)
	}
	delete(pods, "node-2")
	space.made()
	if err := i.Render(t.Context(), []router.Disturbance{cut("f3")}); err == nil || len(space.made()) > 0 {
		t.Errorf("without a pod: %v", err)
	}
}

func TestLeft(t *testing.T) {
	i, space, _ := newInjector()
	if err := i.Render(t.Context(), []router.Disturbance{cut("f1")}); err != nil {
		t.Fatal(err)
	}
	space.stays = true
	if err := i.Render(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := i.Left(t.Context(), "f1"); err == nil {
		t.Error("the NetworkChaos is there, and nothing is left")
	}
	if err := i.Left(t.Context(), "f2"); err != nil {
		t.Errorf("%v, of another fault", err)
	}
	space.stays = false
	if err := i.Left(t.Context(), "f1"); err != nil {
		t.Error(err)
	}
}

func TestFields(t *testing.T) {
	treated := func(how netqueue.Treatment) router.Disturbance { return router.Disturbance{Do: router.Queue, How: how} }
	tests := []struct {
		d    router.Disturbance
		want map[string]any
	}{
		{router.Disturbance{Do: router.Drop}, map[string]any{"action": "partition"}},
		{treated(netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Delay: 50 * time.Millisecond, Jitter: 500 * time.Microsecond}),
			map[string]any{"action": "delay", "delay": map[string]any{"latency": "50000us", "jitter": "500us", "correlation": "0"}}},
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
		{router.Reject, netqueue.Treatment{}, true},
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
