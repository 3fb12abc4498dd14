package router

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"sync"
	"syscall"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A fakeInjector notes what it is asked for.
type fakeInjector struct {
	mu    sync.Mutex
	last  []Disturbance
	calls int
}

func (*fakeInjector) Lacks(do Action, _ netqueue.Treatment) string {
	if do == Reject {
		return "it does not reject"
	}
	return ""
}

func (f *fakeInjector) Render(_ context.Context, wanted []Disturbance) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = wanted
	f.calls++
	return nil
}

func (f *fakeInjector) seen() ([]Disturbance, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.calls
}

// An injector is asked for what agents would show, and these show nothing.
func TestInjector(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	r, by := newRemote(t), &fakeInjector{}
	r.opt.Injector = by
	r.leads = map[string]string{"node-2": "node-3"} // by another address
	r.clients = []string{"subscribers-0-1"}
	if _, err := r.star.net.Host("subscribers-0-1"); err != nil {
		t.Fatal(err)
	}
	if r.Missing(Reject) == "" || r.Missing(Drop) != "" {
		t.Error("what the injector lacks is not missing")
	}
	how := netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Delay: 50}
	rules := []Rule{
		{Fault: "f1", Do: Drop, Links: []Link{{From: []string{"node-1"}, To: []string{"node-2", Clients}}}},
		{Fault: "f2", Do: Queue, Queue: 7, Links: []Link{{From: []string{"node-3"}, To: []string{"node-1", "node-3"}}}},
	}
	if err := errors.Join(r.Render(t.Context(), rules[:1]), r.Treat(7, how), r.Render(t.Context(), rules)); err != nil {
		t.Fatal(err)
	}
	got, _ := by.seen()
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	address := func(host string) netip.Addr {
		a, err := r.star.Address(host)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	want := map[string][]netip.Addr{"node-1": {address("node-2"), address("node-3"), address("subscribers-0-1")}}
	if d := got[0]; d.Fault != "f1" || d.Do != Drop || !reflect.DeepEqual(d.From, want) {
		t.Errorf("%+v, want %v", d, want)
	}
	if d := got[1]; d.Fault != "f2" || d.How != how || len(d.From["node-3"]) != 1 || len(d.From["node-1"]) != 0 {
		t.Errorf("%+v; a host sends itself nothing", d)
	}
	r.arrives(t, "node-1", "node-2", 5, 5)

	_, before := by.seen()
	r.signal(t, "node-2", syscall.SIGKILL).Wait() // it is another pod now
	r.until(t, func() bool { _, n := by.seen(); return n > before })
	if err := errors.Join(r.Render(t.Context(), nil), r.Release(7)); err != nil {
		t.Error(err)
	}
	if got, _ := by.seen(); len(got) != 0 {
		t.Errorf("after the heal: %+v", got)
	}
}
