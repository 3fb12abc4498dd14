package tools

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
)

// ClusterAnswer is a cluster as it is now.
type ClusterAnswer struct {
	Answer
	RunID   string               `json:"run_id"`
	Phase   string               `json:"phase"`
	Elapsed float64              `json:"elapsed_s"`
	Dir     string               `json:"dir"`
	Cluster *history.ClusterInfo `json:"cluster,omitempty"` // as it was started; get_run has it later
	Nodes   []keeper.NodeStatus  `json:"nodes"`
	Faults  []keeper.FaultStatus `json:"faults"`
	Clients []ClientLine         `json:"clients"`
	Counts  Counts               `json:"counts"`
}

func clusterAnswer(s keeper.Status, a Answer) ClusterAnswer {
	return ClusterAnswer{Answer: a, RunID: s.ID, Phase: s.Phase, Elapsed: s.Elapsed, Dir: s.Dir,
		Cluster: s.Cluster, Nodes: s.Nodes, Faults: s.Faults, Clients: clientLines(s.Clients), Counts: soFar(s.Counts)}
}

func configParam() Param {
	return Param{Name: "config", Type: Object, Example: `{"flavor":"reference"}`, Fields: []Param{
		{Name: "flavor", Type: String, About: "reference is embedded; external is one that runs already; or leave it out and give broker, the path of a document", Enum: cluster.FlavorNames(cluster.Any)},
		{Name: "broker", Type: String, About: "document of another broker, path", Unlisted: true},
		{Name: "binary", Type: String, About: "path"},
		{Name: "runtime", Type: String, Enum: cluster.RuntimeNames(), About: "default process"},
		{Name: "image", Type: String, About: "docker"},
		{Name: "version", Type: String, About: "to download (version_sha256 of its archive), or of the image", Example: `"v0.4.11"`},
		{Name: "version_sha256", Type: String, Unlisted: true},
		{Name: "endpoints", Type: Array, Items: String, Address: true, About: "external: host:port of each; with containers, pids or pods of each, username, password", Example: `["broker:1883"]`},
		{Name: "containers", Type: Array, Items: String, Unlisted: true},
		{Name: "protocol", Type: String, Enum: []string{contract.MQ9}, About: "external: endpoints are NATS listeners", Unlisted: true},
		{Name: "pids", Type: Array, Items: Integer, Unlisted: true},
		{Name: "pods", Type: Array, Items: String, Unlisted: true},
		{Name: "queue_limit", Type: Integer, Unlisted: true},
		{Name: "username", Type: String, Unlisted: true}, {Name: "password", Type: String, Secret: true, Unlisted: true},
		{Name: "profile", Type: String, Enum: []string{"tested", "as-shipped"}, About: "as-shipped: the vendor's defaults"},
		{Name: "settings", Type: Object, About: "the flavor's own keys"},
		{Name: "arm", Type: Array, Items: String, About: "disk (disk_model ext4, xfs, strict), clock, tap, chaos-mesh: what faults and claims need"},
		{Name: "transports", Type: Array, Items: String, About: "beside tcp: tls, ws, wss"},
		{Name: "disk_model", Type: String, Enum: []string{"ext4", "xfs", "strict"}, Unlisted: true},
	}}
}

// likeClusterStart is the config of a tool that leaves its fields to the schema of
// cluster_start.
func likeClusterStart() Param {
	config := configParam()
	config.About = "as in cluster_start"
	for i := range config.Fields {
		config.Fields[i].Unlisted = true
	}
	return config
}

func nodesParam() Param {
	return Param{Name: "nodes", Type: Integer, Min: 1, Max: 5, Example: "3"}
}

// load checks the cluster of a call, and reads its document. The document names the flavor,
// which the envelope may limit too.
func (a *agent) load(c cluster.Config) (cluster.Config, error) {
	if err := a.envelope.Cluster(c); err != nil {
		return c, err
	}
	c, err := c.Load()
	if err != nil {
		return c, err
	}
	return c, a.envelope.Cluster(c)
}

func (a *agent) clusterStart() Tool {
	type args struct {
		Nodes  int            `json:"nodes"`
		Config cluster.Config `json:"config"`
		Wait   float64        `json:"wait_s"`
	}
	t := Tool{
		Name:        "cluster_start",
		Description: "Starts a cluster to explore by hand. All you do is recorded, and judged at cluster_stop. Left alone, it is healed and stopped.",
		Params:      []Param{nodesParam(), configParam(), waitS()},
		Example:     `{"nodes":3,"config":{"flavor":"reference"}}`,
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (ClusterAnswer, error) {
		in.Config.Nodes = in.Nodes
		var err error
		if in.Config, err = a.load(in.Config); err != nil {
			return ClusterAnswer{}, err
		}
		e, err := a.start(ctx, call, keeper.Start{Cluster: in.Config, Caller: call.Caller})
		if err != nil {
			return ClusterAnswer{}, err
		}
		status, err := await(ctx, call, e, in.Wait, func(s keeper.Status) bool { return s.Phase != history.PhaseStarting || ended(s) })
		if err != nil {
			return ClusterAnswer{}, fmt.Errorf("start the cluster: %w", err)
		}
		if ended(status) {
			return ClusterAnswer{}, fmt.Errorf("start the cluster: %s. Nothing of it is left running; logs are in %s", status.Error, status.Dir)
		}
		if status.Phase == history.PhaseStarting {
			return clusterAnswer(status, answer("starting: not every node serves yet", "cluster_status to look again")), nil
		}
		return clusterAnswer(status, answer(plural(len(status.Nodes), "node")+" serving",
			"run_client with wait_s 0 to put traffic on it", "inject_fault while traffic flows", "cluster_stop to judge what happened")), nil
	})
}

func (a *agent) clusterStop() Tool {
	type args struct {
		Experiment string  `json:"experiment"`
		Wait       float64 `json:"wait_s"`
	}
	t := Tool{
		Name:        "cluster_stop",
		Description: "Heals every fault, drains the clients, stops the cluster and judges what happened.",
		Params:      []Param{experimentParam(), waitS()},
		Example:     `{}`,
		Hints:       Hints{Destructive: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (RunAnswer, error) {
		e, err := a.experiment(call, in.Experiment)
		if err != nil {
			return RunAnswer{}, err
		}
		return a.stop(ctx, call, e, in.Wait)
	})
}

func (a *agent) clusterStatus() Tool {
	type args struct {
		Experiment string `json:"experiment"`
	}
	t := Tool{
		Name:        "cluster_status",
		Description: "Nodes with their roles, faults in place and when they heal, clients with their counts so far.",
		Params:      []Param{experimentParam()},
		Example:     `{}`,
		Hints:       Hints{ReadOnly: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (ClusterAnswer, error) {
		e, err := a.experiment(call, in.Experiment)
		if err != nil {
			return ClusterAnswer{}, err
		}
		s, err := e.Status(ctx)
		if err != nil {
			return ClusterAnswer{}, err
		}
		summary := fmt.Sprintf("%s: %s, %s, %s", s.Phase, plural(len(s.Nodes), "node"), plural(len(inPlace(s)), "fault")+" in place", plural(len(s.Clients), "client run"))
		out := clusterAnswer(s, answer(summary, nextFor(s)...))
		out.Cluster = nil // it does not change
		return out, nil
	})
}

// inPlace are the faults that are not healed.
func inPlace(s keeper.Status) []keeper.FaultStatus {
	var list []keeper.FaultStatus
	for _, f := range s.Faults {
		if f.Healed != history.HealVerified && f.State != history.Unsupported {
			list = append(list, f)
		}
	}
	return list
}

func nextFor(s keeper.Status) []string {
	switch {
	case s.Scenario != "":
		return []string{"get_run to wait for the verdict", "stop_run to end it early"}
	case len(inPlace(s)) > 0:
		return []string{"heal_fault to heal now", "get_logs around the fault"}
	case s.Phase == history.PhaseStarting:
		return []string{"cluster_status to look again"}
	case len(s.Clients) == 0:
		return []string{"run_client with wait_s 0 to put traffic on it"}
	case !trafficFlows(s):
		return []string{"cluster_stop to judge what happened", "run_client with wait_s 0 for more traffic"}
	}
	return []string{"inject_fault while traffic flows", "cluster_stop to judge what happened"}
}

// trafficFlows reports whether any clients still publish.
func trafficFlows(s keeper.Status) bool {
	return slices.ContainsFunc(s.Clients, func(c keeper.ClientStatus) bool { return c.State == "running" })
}
