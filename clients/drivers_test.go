package clients_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A driverTest is what is tested of a driver.
type driverTest func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string)

// everyDriver runs a test with each SDK under test and each version of MQTT that
// it speaks.
func everyDriver(t *testing.T, test driverTest) { withDrivers(t, tested(), test) }

// everyDriverThat runs a test with those that it is about.
func everyDriverThat(t *testing.T, about func(clients.SDK) bool, test driverTest) {
	withDrivers(t, slices.DeleteFunc(tested(), func(s clients.SDK) bool { return !about(s) }), test)
}

// tested are the newest version of each library of the catalogue; in short those
// whose drivers are in the binary, and one of Python; with RMQ_TEST_DRIVERS=all every
// version, with builtin those in the binary.
func tested() []clients.SDK {
	all := clients.SDKs()
	switch os.Getenv("RMQ_TEST_DRIVERS") {
	case "all":
		return all
	case "builtin":
		return slices.DeleteFunc(all, func(s clients.SDK) bool { return !s.Builtin })
	}
	sdks := newest(all)
	if testing.Short() {
		sdks = slices.DeleteFunc(sdks, func(s clients.SDK) bool { return !s.Builtin && s.Package != "paho-mqtt" })
	}
	return sdks
}

// newest are the first of each library; the catalogue names the newest first.
func newest(all []clients.SDK) (sdks []clients.SDK) {
	seen := map[string]bool{}
	for _, sdk := range all {
		if library := sdk.Lang + "/" + sdk.Package; !seen[library] {
			seen[library] = true
			sdks = append(sdks, sdk)
		}
	}
	return sdks
}

func withDrivers(t *testing.T, sdks []clients.SDK, test driverTest) {
	if len(sdks) == 0 {
		hosttest.Long(t, "its drivers are made first")
	}
	t.Parallel() // they wait for clients and brokers
	for _, sdk := range sdks {
		for _, protocol := range sdk.Protocols {
			if protocol == contract.MQ9 {
				continue // mq9_test.go
			}
			t.Run(strings.ReplaceAll(sdk.String(), "/", "-")+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				defer untilCorrupted()
				test(t, sdk, provision(t, sdk), protocol)
			})
		}
	}
}

// provisioned holds what the tests of this process share.
type provisioned struct {
	mu   sync.Mutex
	dir  string
	made map[string]func() (clients.Program, error) // by SDK
}

var cache = provisioned{made: map[string]func() (clients.Program, error){}}

// folder is where drivers are built. RMQ_TEST_CACHE names one that outlives the
// tests.
func (p *provisioned) folder(t testing.TB) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		p.dir = os.Getenv("RMQ_TEST_CACHE")
	}
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "rmq-mcp-test-*")
		if err != nil {
			t.Fatal(err)
		}
		p.dir = dir
	}
	return p.dir
}

// provision makes an SDK's driver ready, once for all tests.
func provision(t testing.TB, sdk clients.SDK) clients.Program {
	t.Helper()
	if sdk.Builtin {
		// Under the race detector an SDK's own races, of which paho.mqtt.golang
		// has some on reconnecting, are in the log and fail nothing.
		return clients.Program{Argv: []string{os.Args[0]}, Env: []string{asDriver + "=" + sdk.Package, "GORACE=exitcode=0"}}
	}
	dir := cache.folder(t)
	cache.mu.Lock()
	made, known := cache.made[sdk.String()]
	if !known {
		made = sync.OnceValues(func() (clients.Program, error) { return asked(t, dir, sdk) })
		cache.made[sdk.String()] = made
	}
	cache.mu.Unlock()
	program, err := made()
	if err != nil {
		hosttest.Skip(t, err.Error())
	}
	return program
}

// asked asks the registries again that stumble: installing is not what is tested.
func asked(t testing.TB, dir string, sdk clients.SDK) (program clients.Program, err error) {
	for n := range 3 {
		time.Sleep(time.Duration(10*n) * time.Second)
		if program, err = clients.Provision(t.Context(), dir, nil, sdk, nil); err == nil {
			break
		}
		t.Logf("attempt %d to make %s: %v", n+1, sdk, err)
	}
	return program, err
}
