package clients_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// insideCache names the drivers' folder to the copy of a test that runs without
// a network.
const insideCache = "RMQ_TEST_INSIDE_CACHE"

// newestMade are the SDKs to try where one of each library will do: the newest
// version that is not in this binary.
func newestMade() []clients.SDK {
	return newest(slices.DeleteFunc(clients.SDKs(), func(s clients.SDK) bool { return s.Builtin }))
}

// TestDriversStartWithoutANetwork is of drivers that were made before, in a
// namespace in which there is no network at all.
func TestDriversStartWithoutANetwork(t *testing.T) {
	hosttest.Long(t, "a driver of each library is made first")
	if dir := os.Getenv(insideCache); dir != "" {
		hosttest.Inside(t)
		for _, sdk := range newestMade() {
			if _, err := hello(t, dir, sdk); err != nil {
				t.Error(err)
			}
		}
		return
	}
	for _, sdk := range newestMade() {
		provision(t, sdk)
	}
	t.Setenv(insideCache, cache.folder(t))
	hosttest.Inside(t)
}

// hello starts a driver of the cache, and answers what it says of itself.
func hello(t *testing.T, dir string, sdk clients.SDK) (contract.Line, error) {
	program, err := clients.Provision(t.Context(), dir, nil, sdk, nil)
	if err != nil {
		return contract.Line{}, err
	}
	d, err := clients.Start(t.Context(), clients.Options{
		Command: program, Recorder: newMemory(0), Clock: history.NewClock(),
		Spec: contract.Spec{Run: "testtest", Clients: []contract.Client{
			{Process: 0, ClientID: "c", Endpoints: []string{"127.0.0.1:1"}, Protocol: sdk.Protocols[0], Start: "waiting", ReconnectMS: 100},
		}},
	})
	if err != nil {
		return contract.Line{}, err
	}
	d.Close()
	<-d.Done()
	return d.Hello(), nil
}

// TestGoWritesNothingOutsideTheCache checks everything that the go command writes:
// the home and the folder for temporary files must stay empty.
func TestGoWritesNothingOutsideTheCache(t *testing.T) {
	hosttest.Long(t, "it compiles with empty caches")
	sdk, err := clients.Resolve("go/paho.golang@0.21.0")
	if err != nil {
		t.Fatal(err)
	}
	home, temp := t.TempDir(), t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "TMPDIR": temp, "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "", "GOPATH": "", "GOCACHE": "", "GOMODCACHE": "",
	} {
		t.Setenv(name, value)
	}
	state := t.TempDir()
	t.Cleanup(func() { clients.Prune(t.Context(), state, true) }) // modules are read-only
	if _, err := clients.Provision(t.Context(), state, nil, sdk, nil); err != nil {
		hosttest.Skip(t, err.Error())
	}
	for _, dir := range []string{home, temp} {
		err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			if err == nil && name != dir {
				t.Errorf("%s was made", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
