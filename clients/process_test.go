package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestAKilledDriverLeavesWholeLines(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		r := start(t, program, 2, publisher(0, protocol, 0, 1<<30, broker(t, protocol)))
		r.do(t, "connect", 0)
		r.wait(t, "acknowledgements", 20, and(is(0, history.KindPublish, history.Return), ok))
		r.Close()
		<-r.Done()
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "without bye (signal: killed)") {
			t.Errorf("Err is %v", err)
		}
		if n := r.count(is(0, history.KindEnd, history.Point)); n != 0 {
			t.Error("a killed driver is said to have ended in order")
		}
	})
}

// TestAFailureOfADriversOwn makes drivers fail in their own code, by a payload that no
// memory holds.
func TestAFailureOfADriversOwn(t *testing.T) {
	tells := func(sdk clients.SDK) bool { return sdk.Lang != "go" } // whose runtime ends a panic itself
	everyDriverThat(t, tells, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		pub := publisher(0, protocol, 0, 1, broker(t, protocol))
		pub.Publish.PayloadBytes = 1 << 50
		r := start(t, program, 2, pub)
		r.do(t, "connect", 0)
		select {
		case <-r.Done():
		case <-time.After(hosttest.Bound):
			t.Fatal("it goes on")
		}
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "a failure of its own (exit status 70)") {
			t.Errorf("Err is %v", err)
		}
	})
}

// TestAnErrorOfALibrary lets packages throw where nobody catches, once their client
// connects: it is not the driver's own failure.
func TestAnErrorOfALibrary(t *testing.T) {
	tells := func(sdk clients.SDK) bool { return sdk.Package == "mqtt" || sdk.Package == "paho-mqtt" }
	everyDriverThat(t, tells, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		dir := t.TempDir()
		switch sdk.Lang {
		case "js":
			file := library(t, dir, "node_modules/sdk/index.js", `
const { Socket } = require('net'), connect = Socket.prototype.connect
Socket.prototype.connect = function (...args) {
  setImmediate(() => { throw new Error('of a library') })
  return connect.apply(this, args)
}`)
			program.Env = append(program.Env, "NODE_OPTIONS=--require="+file)
		case "python":
			file := library(t, dir, "site-packages/sdk.py", `
import socket, threading
connect = socket.create_connection
def fail():
    raise ValueError('of a library')
def create_connection(*args, **named):
    threading.Thread(target=fail).start()
    return connect(*args, **named)
socket.create_connection = create_connection`)
			main := program.Argv[len(program.Argv)-1]
			code := "import runpy, sys; sys.path[0] = sys.argv[1]; runpy.run_path(sys.argv[2]); runpy.run_path(sys.argv[3], run_name='__main__')"
			program.Argv = append(slices.Clone(program.Argv[:len(program.Argv)-1]), "-c", code, filepath.Dir(main), file, main)
		}
		r := start(t, program, 0, client(0, protocol, freeAddress(t)))
		r.do(t, "connect", 0)
		select {
		case <-r.Done():
		case <-time.After(hosttest.Bound):
			t.Fatal("it goes on")
		}
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "it ended without bye (exit status ") {
			t.Errorf("Err is %v", err)
		}
	})
}

// library writes a file of a package.
func library(t *testing.T, dir, name, source string) string {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestADriverEndsWithItsStdin(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		cmd := exec.Command(program.Argv[0], program.Argv[1:]...)
		cmd.Env = append(os.Environ(), program.Env...)
		cmd.Stdin = strings.NewReader(`{"contract":1,"run":"testtest","ack_wait_ms":60000,"clients":[{"process":0,"client_id":"c","endpoints":["` +
			freeAddress(t) + `"],"protocol":"` + protocol + `","reconnect_ms":100,"start":"connected","publish":{"streams":[{"stream":0,"topic":"a","qos":1}],"rate_per_s":10}}]}` + "\n")
		began := time.Now()
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), `"e":"bye"`) {
			t.Errorf("%v after %s:\n%s", err, time.Since(began), out)
		}
	})
}

func TestWhatPrintsToStdoutDoesNotBreakTheContract(t *testing.T) {
	r := start(t, fake("noisy"), 0, contract.Client{
		Process: 0, Endpoints: []string{freeAddress(t)}, Protocol: contract.MQTT3, Start: "waiting", ReconnectMS: 100,
	})
	r.finish(t)
}
