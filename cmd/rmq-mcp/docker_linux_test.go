package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
	"github.com/robustmq/rmq-mcp/internal/testing/enginetest"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// goneBound is how long containers may outlive their keeper.
const goneBound = hosttest.Bound

// A harbour is a docker engine of the test's own, and a lab whose processes
// use it.
type harbour struct {
	*lab
	t      *testing.T
	host   string
	engine *docker.Engine
	other  *docker.Network // of another run, which nobody may touch
}

// TestDocker is runtime docker on a real engine. Starting one takes longer
// than most of the rest, so all share it.
func TestDocker(t *testing.T) {
	hosttest.Long(t, "it runs clusters")
	h := newHarbour(t)
	needNamespaces(t, h.lab)
	for _, test := range []struct {
		name string
		run  func(*harbour, *testing.T)
	}{
		{"explored by hand", (*harbour).explored},
		{"keeper killed", (*harbour).keeperKilled},
		{"keeper and guard killed", (*harbour).bothKilled},
		{"mosquitto's image", (*harbour).mosquitto},
		{"bad input", (*harbour).badInput},
		{"external container", (*harbour).external},
		{"image of a release", (*harbour).releaseImage},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.t = t
			defer h.clean()
			test.run(h, t)
			if got := h.containers("another-run"); got != "rmq-somebody-elses" {
				t.Errorf("of another run there is %q", got)
			}
		})
	}
}

func newHarbour(t *testing.T) *harbour {
	t.Helper()
	host, engine := enginetest.Open(t)
	h := &harbour{lab: newLab(t, nil, false), host: host, engine: engine}
	h.env = []string{"DOCKER_HOST=" + host}
	t.Cleanup(func() { h.kill(h.processes()) })
	image, err := engine.ImportSelf(t.Context(), binary())
	if err != nil {
		t.Fatal(err)
	}
	h.other, err = engine.Hold(t.Context(), docker.HoldOptions{
		Name: "rmq-somebody-elses", Run: "another-run", Node: "node-1", Image: image, Self: []string{"hold"}, Dir: filepath.Join(h.base, "hold"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// clean ends what a failed test left, which would fail all others.
func (h *harbour) clean() {
	if h.t.Failed() {
		h.kill(h.processes())
		h.command("heal").Run()
	}
}

// containers are those of a run, as text; "" is none.
func (h *harbour) containers(run string) string {
	found, err := h.engine.OfRun(context.Background(), run)
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, c := range found {
		names = append(names, c.Name())
	}
	return strings.Join(names, " ")
}

// serve is an agent's session with a server in the lab.
func (h *harbour) serve(args ...string) *agent {
	h.t.Helper()
	return connectAgent(h.t, &mcp.CommandTransport{Command: h.command(append([]string{"serve"}, args...)...)})
}

// up starts three nodes in containers and traffic on them.
func (h *harbour) up(a *agent) (run string) {
	h.t.Helper()
	started := a.call("cluster_start", map[string]any{"nodes": 3, "config": map[string]any{"runtime": "docker"}, "wait_s": 45})
	if started["phase"] != history.PhaseReady {
		h.t.Fatalf("cluster_start: %v", started)
	}
	info := started["cluster"].(map[string]any)
	if info["runtime"] != "docker" || !strings.HasPrefix(fmt.Sprint(info["image"]), "rmq-mcp:") {
		h.t.Errorf("what runs is described as %v", info)
	}
	run = started["run_id"].(string)
	if got := strings.Fields(h.containers(run)); len(got) != 6 {
		h.t.Fatalf("containers %v, expected six", got)
	}
	a.call("run_client", map[string]any{"sdk_lang": "go", "scenario": "mqtt/qos-roundtrip", "duration_s": 120, "wait_s": 0})
	a.untilTrafficFlows()
	return run
}

// inject injects a fault for two seconds, and answers what became of it.
func (a *agent) inject(kind, target string) map[string]any {
	a.t.Helper()
	put := a.call("inject_fault", map[string]any{"type": kind, "target": target, "params": map[string]any{"duration_s": 2}})
	id := put["fault"].(map[string]any)["fault_id"]
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		for _, f := range a.call("cluster_status", nil)["faults"].([]any) {
			fault := f.(map[string]any)
			if fault["fault_id"] == id && fault["healed"] == "verified" {
				return fault
			}
		}
		if time.Now().After(deadline) {
			a.t.Fatalf("%s of %s is not healed: %v", kind, target, a.call("cluster_status", nil)["faults"])
		}
	}
}

func (h *harbour) explored(t *testing.T) {
	a := h.serve()
	run := h.up(a)
	for _, fault := range []struct{ kind, target string }{{"pause", "node-2"}, {"kill", "node-3"}, {"stop", "node-1"}, {"partition", "node-2"}} {
		if got := a.inject(fault.kind, fault.target); got["landing"] != "landed" {
			t.Errorf("%s: %v", fault.kind, got)
		}
	}
	if logs := a.call("get_logs", map[string]any{"node": "node-3", "match": "started again"}); !strings.Contains(fmt.Sprint(logs["lines"]), "started again") {
		t.Errorf("logs of a container that was killed: %v", logs)
	}
	metrics := fmt.Sprint(a.call("get_metrics", map[string]any{"node": "node-1", "names": []string{"process_memory_bytes", "nats_|jetstream|connections"}})["metrics"])
	if !strings.Contains(metrics, "process_memory_bytes") {
		t.Errorf("metrics of a container: %s", metrics)
	}
	a.stop(run)
	if left := h.containers(run); left != "" {
		t.Errorf("cluster_stop left %s", left)
	}
	h.nothingLeft(run)
}

// stop stops the cluster of a run that finds nothing.
func (a *agent) stop(run string) {
	a.t.Helper()
	stopped := a.call("cluster_stop", map[string]any{"wait_s": 45})
	for stopped["running"] == true {
		stopped = a.call("get_run", map[string]any{"run_id": run, "wait_s": 45})
	}
	if verdict, _ := stopped["verdict"].(map[string]any); verdict == nil || strings.HasPrefix(fmt.Sprint(verdict["state"]), "FAIL") {
		a.t.Errorf("verdict %v", stopped["verdict"])
	}
}

// nothingLeft waits until all of a run is gone and healed.
func (h *harbour) nothingLeft(run string) {
	h.t.Helper()
	if err := await(leftBound, func() string { return h.left() + h.noted() }); err != nil {
		h.t.Error(err)
	}
	if err := healed(filepath.Join(h.dir, "runs", run)); err != nil {
		h.t.Error(err)
	}
}

func (h *harbour) keeperKilled(t *testing.T) {
	a := h.serve()
	run := h.up(a)
	a.call("inject_fault", map[string]any{"type": "pause", "target": "node-2", "params": map[string]any{"duration_s": 60}})
	h.kill(h.processes("keeper"))
	if err := await(goneBound, func() string { return h.containers(run) }); err != nil {
		t.Errorf("%v after their keeper was killed: %v", goneBound, err)
	}
	a.session.Close()
	h.nothingLeft(run)
}

func (h *harbour) bothKilled(t *testing.T) {
	a := h.serve()
	run := h.up(a)
	a.call("inject_fault", map[string]any{"type": "pause", "target": "node-2", "params": map[string]any{"duration_s": 60}})
	h.kill(append(h.processes("guard"), h.processes("serve", "keeper")...))
	if h.containers(run) == "" {
		t.Error("the containers are gone though nobody was left to remove them: this test shows nothing")
	}
	if out, err := h.command("heal").CombinedOutput(); err != nil || !strings.Contains(string(out), run) {
		t.Errorf("heal: %v\n%s", err, out)
	}
	if left := h.containers(run); left != "" {
		t.Errorf("heal left %s", left)
	}
	h.nothingLeft(run)
}

// mosquitto runs a scenario on an image of Debian's mosquitto and the
// libraries that it needs.
func (h *harbour) mosquitto(t *testing.T) {
	h.importMosquitto("mosquitto-test:1")
	out, err := h.command("run", filepath.Join(h.base, "one-node.md"), "--flavor", "mosquitto", "--runtime", "docker", "--image", "mosquitto-test:1").CombinedOutput()
	if code := exitCode(err); code != 0 && code != 1 { // it loses messages, which is no error
		t.Fatalf("run: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "serves MQTT") {
		t.Errorf("run:\n%s", out)
	}
	if err := await(leftBound, func() string { return h.left() + h.noted() }); err != nil {
		t.Error(err)
	}
}

func (h *harbour) importMosquitto(ref string) {
	h.t.Helper()
	path := hosttest.Program(h.t, "mosquitto")
	libraries, err := exec.Command("ldd", path).Output()
	if err != nil {
		h.t.Fatal(err)
	}
	files := []string{path, "/etc/passwd"}
	for _, word := range strings.Fields(string(libraries)) {
		if filepath.IsAbs(word) {
			files = append(files, word)
		}
	}
	pack := exec.Command("tar", append([]string{"--create", "--dereference", "--absolute-names"}, files...)...)
	archive, err := pack.StdoutPipe()
	if err == nil {
		err = pack.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	if err := errors.Join(h.engine.Import(h.t.Context(), ref, archive), pack.Wait()); err != nil {
		h.t.Fatal(err)
	}
}

// releaseImage makes the image of a release, without pulling anything, and talks to the
// server in it: a run without namespaces passes there.
func (h *harbour) releaseImage(t *testing.T) {
	docker := hosttest.Program(t, "docker")
	context := t.TempDir()
	program, err := os.ReadFile(binary())
	if err == nil {
		err = os.WriteFile(filepath.Join(context, "rmq-mcp"), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), docker, args...)
		cmd.Env = append(os.Environ(), "DOCKER_HOST="+h.host, "DOCKER_BUILDKIT=0")
		return cmd
	}
	if out, err := command("build", "--build-arg", "TARGETPLATFORM=.", "--tag", "rmq-release:1", "--file", filepath.Join("..", "..", "Dockerfile"), context).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	a := connectAgent(t, &mcp.CommandTransport{Command: command("run", "--rm", "--interactive", "rmq-release:1")})
	started := a.call("run_scenario", map[string]any{"scenario": "mqtt/qos-roundtrip", "wait_s": 45})
	for started["running"] == true {
		started = a.call("get_run", map[string]any{"run_id": started["run_id"], "wait_s": 45})
	}
	if verdict, _ := started["verdict"].(map[string]any); verdict == nil || verdict["state"] != "PASS-smoke" {
		t.Errorf("a run in the image: %v", started)
	}
	a.session.Close()
}

func (h *harbour) badInput(t *testing.T) {
	tests := []struct {
		args []string
		env  string
		want string
	}{
		{[]string{"--flavor", "mosquitto", "--image", "127.0.0.1:9/none:1"}, "", "could not pull it"},
		{[]string{"--flavor", "mosquitto"}, "", "needs an image"},
		{[]string{"--flavor", "robustmq"}, "", "needs a version"},
		{[]string{"--flavor", "robustmq", "--broker-version", "latest/../x"}, "", "not like v0.4.11"},
		{[]string{"--image", "x"}, "", "leave image out"},
		{[]string{"--arm", "disk"}, "", "use runtime process"},
		{nil, "DOCKER_HOST=tcp://127.0.0.1:2375", "set DOCKER_HOST to unix://"},
		{nil, "DOCKER_HOST=unix:///nowhere.sock", "start dockerd"},
	}
	for _, test := range tests {
		cmd := h.command(append([]string{"run", filepath.Join(h.base, "one-node.md"), "--runtime", "docker"}, test.args...)...)
		cmd.Env = append(cmd.Env, test.env)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%v %s: %v, expected %q:\n%s", test.args, test.env, err, test.want, out)
		}
	}
	if err := await(leftBound, func() string { return h.left() + h.noted() }); err != nil {
		t.Error(err)
	}
}

// external faults a broker in a container that the operator allows, and stops
// without touching it; one whose keeper is killed is started again.
func (h *harbour) external(t *testing.T) {
	h.importMosquitto("mosquitto-test:2")
	port := freePort(t)
	endpoint := "127.0.0.1:" + port
	c, err := h.engine.Create(t.Context(), docker.Spec{
		Name: "operators-broker", Image: "mosquitto-test:2", Entrypoint: []string{"mosquitto", "-p", port}, Network: "host",
	})
	if err == nil {
		err = c.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Remove(context.Background())
	envelope := filepath.Join(h.base, "envelope")
	text := fmt.Sprintf("allowed_endpoints: [%q]\nallowed_containers: [operators-broker]\n", endpoint)
	if err := os.WriteFile(envelope, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := h.serve("--envelope", envelope)
	start := map[string]any{"config": map[string]any{"flavor": "external", "endpoints": []string{endpoint}, "containers": []string{"operators-broker"}}, "wait_s": 45}
	a.call("cluster_start", start)
	for _, kind := range []string{"pause", "kill", "stop"} {
		if got := a.inject(kind, "node-1"); got["landing"] != "landed" {
			t.Errorf("%s: %v", kind, got)
		}
	}
	h.crash(t, c, port)
	if text := fmt.Sprint(a.call("cluster_stop", map[string]any{"wait_s": 45})); !strings.Contains(text, "the process of node-1 ended") {
		t.Errorf("a crash that the engine hides is not told: %s", text)
	}
	if s, err := c.State(t.Context()); err != nil || !s.Running || s.Paused {
		t.Fatalf("cluster_stop touched a broker that is not ours: %+v, %v", s, err)
	}
	for _, kind := range []string{"pause", "kill"} {
		run := a.call("cluster_start", start)["run_id"].(string)
		a.call("inject_fault", map[string]any{"type": kind, "target": "node-1", "params": map[string]any{"duration_s": 60}})
		h.kill(h.processes("keeper"))
		err := await(goneBound, func() string {
			if s, err := c.State(context.Background()); err != nil || !s.Running || s.Paused {
				return fmt.Sprintf("%+v, %v", s, err)
			}
			return ""
		})
		if err != nil {
			t.Errorf("%s, and the keeper killed: %v", kind, err)
		}
		if err := await(leftBound, h.noted); err != nil {
			t.Error(err)
		}
		if err := healed(filepath.Join(h.dir, "runs", run)); err != nil {
			t.Error(err)
		}
	}
}

// crash ends the process in a container that its engine is told to start again, and waits
// until it has.
func (h *harbour) crash(t *testing.T, c *docker.Container, port string) {
	t.Helper()
	socket := strings.TrimPrefix(h.host, "unix://")
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	answer, err := client.Post("http://engine/containers/"+c.ID()+"/update", "application/json", strings.NewReader(`{"RestartPolicy":{"Name":"always"}}`))
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("have the engine start it again: %v, %v", answer, err)
	}
	answer.Body.Close()
	before, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("pkill", "-KILL", "-f", "^mosquitto -p "+port+"$").CombinedOutput(); err != nil {
		t.Fatalf("crash the broker: %v %s", err, out)
	}
	err = await(goneBound, func() string {
		s, err := c.State(context.Background())
		if err != nil || !s.Running || s.Started.Equal(before.Started) {
			return fmt.Sprintf("%+v, %v", s, err)
		}
		return ""
	})
	if err != nil {
		t.Fatalf("the engine does not start it again: %v", err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
