package kube_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/kubetest"
)

// TestMain makes the test binary the program in the pods, when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "inside" {
		os.Exit(m.Run())
	}
	if err := cluster.InsideMain(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(t *testing.T) (*kubetest.Server, *kube.API) {
	t.Helper()
	s := kubetest.New(t, os.Args[0])
	api, err := kube.Open(t.Context(), kube.Target{Files: []string{s.Kubeconfig}})
	if err != nil {
		t.Fatal(err)
	}
	return s, api
}

// made is a namespace with all that a pod of a node needs.
func made(t *testing.T, api *kube.API) *kube.Namespace {
	t.Helper()
	n, err := api.Make(t.Context(), "1129-1011-mqtt-broker-kill-9-ab12")
	if err == nil {
		_, err = n.Service(t.Context(), "node-1")
	}
	if err == nil {
		err = n.Volume(t.Context(), "node-1", 1<<30)
	}
	if err == nil {
		err = n.Secret(t.Context(), "node-1", map[string][]byte{"conf": []byte("x")})
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func spec(t *testing.T, script string) kube.Spec {
	dir := t.TempDir()
	return kube.Spec{
		Name: "node-1-1", Node: "node-1", Image: "broker:1", Self: "rmq-mcp:1", Command: []string{"sh", "-c", script}, Dir: dir,
		Data: filepath.Join(dir, "data"), Files: map[string]string{filepath.Join(dir, "conf"): "conf"}, Grace: time.Second,
	}
}

// text collects what is followed.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A pod runs, is looked at and signalled, ends, and is made again with its files. Its log is
// whole and its end is seen although the server is away for a time in which lines are written.
func TestPod(t *testing.T) {
	s, api := open(t)
	var away atomic.Bool
	var refused atomic.Int64
	s.Refuse = func(string, string, string) error {
		if !away.Load() {
			return nil
		}
		refused.Add(1)
		return apierrors.NewServiceUnavailable("the server is starting")
	}
	n := made(t, api)
	one := spec(t, "cat conf; echo; echo one; while ! test -e data/more; do sleep 0.02; done; echo two; exec sleep 600")
	pod, err := n.Pod(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if state, err := pod.Await(t.Context()); err != nil || !state.Running {
		t.Fatalf("%+v, %v", state, err)
	}
	log := &text{}
	followed := make(chan error, 1)
	go func() { followed <- pod.Follow(t.Context(), log) }()
	until(t, "the log has one", func() bool { return strings.Contains(log.String(), "one") })
	ended := make(chan kube.State, 1)
	go func() { s, _ := pod.Wait(t.Context()); ended <- s }()
	away.Store(true)
	s.Break()
	if err := os.WriteFile(filepath.Join(one.Data, "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "some calls are refused", func() bool { return refused.Load() > 5 })
	away.Store(false)
	until(t, "the log has two", func() bool { return strings.Contains(log.String(), "two") })
	var seen cluster.Inside
	out, err := pod.Exec(t.Context(), kube.Self, "inside", "look")
	if err == nil {
		err = json.Unmarshal(out, &seen)
	}
	if err != nil || seen.State != "running" || seen.Metrics["process_threads"] != 1 {
		t.Errorf("look: %s, %v", out, err)
	}
	if _, err := pod.Exec(t.Context(), "ps"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a command that the pod has not: %v", err)
	}
	if _, err := pod.Exec(t.Context(), kube.Self, "inside", "signal", "9", fmt.Sprint(seen.PID), fmt.Sprint(seen.Born+1)); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("a signal to a process that has the number of the broker: %v", err)
	}
	if _, err := pod.Exec(t.Context(), kube.Self, "inside", "signal", "9", fmt.Sprint(seen.PID), fmt.Sprint(seen.Born)); err != nil {
		t.Fatal(err)
	}
	if state := <-ended; !state.Ended || state.Exit != 137 || state.Removed {
		t.Errorf("killed: %+v", state)
	}
	if err := <-followed; err != nil || log.String() != "x\none\ntwo\n" {
		t.Errorf("the log is %q, %v", log, err)
	}
	if err := pod.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := n.Pod(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Await(t.Context()); err != nil || again.UID() == pod.UID() {
		t.Errorf("the second is %s, %v", again.UID(), err)
	}
	if state, err := pod.State(t.Context()); err != nil || !state.Removed {
		t.Errorf("the first is taken for the second: %+v, %v", state, err)
	}
	if err := pod.Delete(t.Context()); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
	if state, err := again.State(t.Context()); err != nil || !state.Running {
		t.Errorf("the second ended with the first: %+v, %v", state, err)
	}
	for _, there := range []bool{true, false} {
		if was, err := n.Remove(t.Context()); err != nil || was != there {
			t.Fatalf("%t, %v", was, err)
		}
	}
	for _, kind := range []string{"namespaces", "pods", "services", "secrets", "persistentvolumeclaims"} {
		if left := s.Names(kind); len(left) > 0 {
			t.Errorf("%s are left: %s", kind, left)
		}
	}
}

// An end that the cluster asked for is not the broker's own, whatever its status.
func TestEvictedPod(t *testing.T) {
	s, api := open(t)
	n := made(t, api)
	pod, err := n.Pod(t.Context(), spec(t, "trap 'exit 0' TERM; while :; do sleep 0.02; done"))
	if err == nil {
		_, err = pod.Await(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan kube.State, 1)
	go func() { s, _ := pod.Wait(t.Context()); ended <- s }()
	s.Evict(n.Name(), pod.Name())
	if state := <-ended; !state.Ended && !state.Removed || state.Why != "somebody deleted its pod" {
		t.Errorf("%+v", state)
	}
}

// A pod that cannot run is an error with the reason, and so is a call that the server refuses.
func TestRefusals(t *testing.T) {
	s, api := open(t)
	n := made(t, api)
	missing := spec(t, "")
	missing.Image = kubetest.Missing
	pod, err := n.Pod(t.Context(), missing)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pod.Await(t.Context()); err == nil || !strings.Contains(err.Error(), "ErrImageNeverPull: no such image") {
		t.Errorf("an image that no registry has: %v", err)
	}
	if _, err := n.Pod(t.Context(), missing); !apierrors.IsAlreadyExists(err) {
		t.Errorf("two pods of a name: %v", err)
	}
	s.Refuse = func(verb, kind, name string) error {
		if verb == "create" && kind == "secrets" {
			return kubetest.Forbidden(verb, kind, name)
		}
		return nil
	}
	err = n.Secret(t.Context(), "node-2", nil)
	if err == nil || !strings.Contains(err.Error(), `make secret node-2`) || !strings.Contains(err.Error(), `cannot create resource "secrets"`) || !strings.Contains(err.Error(), "docs/kubernetes.md") {
		t.Errorf("a right that is missing: %v", err)
	}
}

// A namespace of somebody else is left, and so is one of another run.
func TestRemoveLeavesOthers(t *testing.T) {
	s, api := open(t)
	made(t, api)
	for _, run := range []string{"1129-1011-mqtt-broker-kill-9-cd34", "nothing"} {
		if was, err := api.Of(run).Remove(t.Context()); err != nil || was {
			t.Error(was, err)
		}
	}
	if names := s.Names("namespaces"); len(names) != 1 {
		t.Errorf("there are %s", names)
	}
}

// Names are labels of DNS, and the end of a run's name stays in them.
func TestNamespaceName(t *testing.T) {
	api := new(kube.API)
	for run, want := range map[string]string{
		"1129-1011-mqtt-broker-kill-9-ab12": "rmq-1129-1011-mqtt-broker-kill-9-ab12",
		"A/b":                               "rmq-a-b",
		"1129-1011-" + strings.Repeat("x", 80) + "-ab12": "rmq-1129-1011-" + strings.Repeat("x", 26) + "-" + strings.Repeat("x", 15) + "-ab12",
	} {
		if got := api.Of(run).Name(); got != want || len(got) > 63 {
			t.Errorf("%s: %s, want %s", run, got, want)
		}
	}
}

// Without a configuration, or without a server, it is said what to do.
func TestOpenErrors(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := kube.Open(t.Context(), kube.Target{}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "KUBECONFIG") {
		t.Errorf("no configuration: %v", err)
	}
	s := kubetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := kube.Open(ctx, kube.Target{Files: []string{s.Kubeconfig}}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "no API server answers") {
		t.Errorf("no server: %v", err)
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > hosttest.Bound {
			t.Fatalf("it does not come about that %s", what)
		}
	}
}

// Keepers that die at a hundred random moments leave nothing. The watchdog removes the
// namespace of each, and no other. Before there is a watchdog the ledger has the name.
func TestKeepersKilled(t *testing.T) {
	hosttest.Long(t, "a lease lasts half a minute")
	const keepers, bound = 100, time.Minute
	s, api := open(t)
	bystander := made(t, api)
	dice := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	var group sync.WaitGroup
	var unguarded atomic.Int32
	for i := range keepers {
		life, run, pod := time.Duration(dice.Int64N(int64(12*time.Second))), fmt.Sprintf("run-%d", i), spec(t, "exec sleep 1000")
		group.Go(func() {
			api, err := kube.Open(t.Context(), kube.Target{Files: []string{s.Kubeconfig}}) // calls of one client are throttled
			if err != nil {
				t.Error(err)
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), life)
			defer cancel()
			guarded := keep(ctx, api, run, pod)
			<-ctx.Done()
			n := api.Of(run)
			if !guarded {
				unguarded.Add(1)
				if _, err := n.RemoveOfDead(t.Context()); err != nil {
					t.Error(err)
				}
			}
			died := time.Now()
			for slices.Contains(s.Names("namespaces"), n.Name()) {
				if time.Since(died) > bound {
					t.Errorf("%s is there %v after its keeper, which lived %v", n.Name(), bound, life)
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	group.Wait()
	t.Logf("%d of %d keepers died before they had a watchdog", unguarded.Load(), keepers)
	if names := s.Names("namespaces"); !slices.Equal(names, []string{bystander.Name()}) {
		t.Errorf("namespaces %v are left, want %s alone", names, bystander.Name())
	}
	if names := s.Names("pods"); len(names) > 0 {
		t.Errorf("pods %v are left", names)
	}
}

// keep makes what a keeper makes until ctx ends, and reports whether a watchdog was among it.
func keep(ctx context.Context, api *kube.API, run string, pod kube.Spec) (guarded bool) {
	n, err := api.Make(ctx, run)
	if err == nil {
		err = n.Guard(ctx, "rmq-mcp:1", "test", func(error) {})
		guarded = err == nil
	}
	if err == nil {
		_, err = n.Service(ctx, pod.Node)
	}
	if err == nil {
		err = n.Volume(ctx, pod.Node, 1<<20)
	}
	if err == nil {
		err = n.Secret(ctx, pod.Node, map[string][]byte{"conf": []byte("x")})
	}
	if err == nil {
		n.Pod(ctx, pod)
	}
	return guarded
}
