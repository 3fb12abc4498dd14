package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/testing/enginetest"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/kubetest"
)

func init() {
	onLinux["docker"] = inContainer
	onLinux["kubernetes"] = inPod
}

// inContainer has the node be a container of a real engine.
func inContainer(t *testing.T, n *Node) {
	hosttest.Long(t, "it starts a docker engine")
	_, engine := enginetest.Open(t)
	program := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-o", program, "../internal/mechanism/docker/testdata/program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	image, err := engine.ImportSelf(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	n.launcher = &box{log: n.log, make: func(ctx context.Context) (*docker.Container, error) {
		return engine.Create(ctx, docker.Spec{
			Name: n.name, Run: "contract", Node: n.name, Image: image.ID, Entrypoint: []string{docker.SelfPath, "lines"}, Network: docker.NetworkNone,
		})
	}}
	t.Cleanup(func() { engine.RemoveRun(context.Background(), "contract") })
}

// inPod has the node be a pod of a cluster that is in memory.
func inPod(t *testing.T, n *Node) {
	api, err := kube.Open(t.Context(), kube.Target{Files: []string{kubetest.New(t, os.Args[0]).Kubeconfig}})
	if err != nil {
		t.Fatal(err)
	}
	space, err := api.Make(t.Context(), "contract")
	if err == nil {
		_, err = space.Service(t.Context(), n.name)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.ports = map[string]int{"mqtt": 1883}
	p := &pods{opts: Options{Dir: filepath.Join(n.dir, "none"), Config: Config{Nodes: 1}}, space: space}
	if err := os.Mkdir(p.opts.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	n.launcher = &podLauncher{pods: p, spec: kube.Spec{Node: n.name, Image: "broker:1", Self: "rmq-mcp:1", Command: n.argv, Dir: n.dir, Data: n.data}}
}
