package experiment

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// A Preflight is what this host can do.
type Preflight struct {
	Isolation string       `json:"isolation"` // namespaces or loopback
	Abilities []Ability    `json:"abilities"`
	Faults    []FaultMeans `json:"faults"`
	Flavors   []Ability    `json:"flavors"`
	SDKs      []Ability    `json:"sdks"`
}

// An Ability is one thing that a host has or lacks.
type Ability struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Detail  string `json:"detail"`            // what was found, or what is lost without it
	Install string `json:"install,omitempty"` // the line that would bring it
}

// A FaultMeans is how a fault would be done here.
type FaultMeans struct {
	Type      string `json:"type"`
	OK        bool   `json:"ok"`
	Arms      string `json:"arms,omitempty"` // what has to be armed for it before the cluster starts
	Mechanism string `json:"mechanism"`
	Missing   string `json:"missing,omitempty"`
	Params    string `json:"params"` // its parameters in words
}

// Look looks at the host and changes nothing. Self is the argv that executes
// this binary.
func Look(ctx context.Context, self []string) Preflight {
	var g sync.WaitGroup
	var sdks []clients.Status
	var dockerd, pods Ability
	g.Go(func() { sdks = clients.Look(ctx, "", clients.SDKs()) })
	g.Go(func() { dockerd = engine(ctx) })
	g.Go(func() { pods = apiServer(ctx) })
	isolation, why := keeper.Isolation(ctx, self)
	g.Wait()
	p := Preflight{Isolation: isolation, Abilities: []Ability{namespaces(isolation, why)}}
	for _, f := range cluster.Flavors() {
		a := found(f)
		p.Flavors = append(p.Flavors, a)
		if f.BinaryEnv+f.Program != "" && f.Document == nil {
			p.Abilities = append(p.Abilities, a)
		}
	}
	p.Abilities = append(p.Abilities, program("python3", "apt-get install python3 python3-venv, or brew install python"), dockerd, pods)
	for _, k := range faults.Catalog() {
		m := means(ctx, k)
		if k.Family == "network" && isolation != keeper.IsolationNamespaces {
			m.OK, m.Missing = false, "network faults need namespaces: "+why
		}
		p.Faults = append(p.Faults, m)
	}
	for _, s := range sdks {
		p.SDKs = append(p.SDKs, Ability{
			Name: s.String(), OK: s.State != clients.StateUnsupported, Detail: strings.Join(s.Protocols, ", "), Install: s.Missing,
		})
	}
	return p
}

// engine is the docker engine that runtime docker would use.
func engine(ctx context.Context) Ability {
	const install = "apt-get install docker.io; without it nodes run as processes, which is the default"
	e, err := docker.Open(ctx, "")
	if err != nil {
		return Ability{Name: "docker", Detail: err.Error(), Install: install}
	}
	defer e.Close()
	version, err := e.Version(ctx)
	if err != nil {
		return Ability{Name: "docker", Detail: err.Error(), Install: install}
	}
	return Ability{Name: "docker", OK: true, Detail: "engine " + version + " at " + e.Host()}
}

// apiServer is the Kubernetes cluster that runtime kubernetes would use.
func apiServer(ctx context.Context) Ability {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	a := Ability{Name: "kubernetes", Install: "see docs/kubernetes.md; without it nodes run as processes, which is the default"}
	api, err := kube.Open(ctx, kube.Target{})
	if err == nil {
		a.Detail, err = api.Version(ctx)
	}
	if err != nil {
		a.Detail = err.Error()
		return a
	}
	return Ability{Name: a.Name, OK: true, Detail: a.Detail + " at " + api.String()}
}

func means(ctx context.Context, k faults.Kind) FaultMeans {
	mechanism, missing := k.Available(ctx)
	var params []string
	for _, p := range k.Parameters() {
		usual := fmt.Sprintf("default %v", p.Default)
		if p.Required {
			usual = "required"
		}
		params = append(params, fmt.Sprintf("%s: %s (%s)", p.Name, p.Doc, usual))
	}
	return FaultMeans{Type: k.Type, OK: missing == "", Arms: k.Arms, Mechanism: mechanism, Missing: missing, Params: strings.Join(params, "; ")}
}

func namespaces(isolation, why string) Ability {
	a := Ability{Name: "namespaces", OK: isolation == keeper.IsolationNamespaces}
	if a.OK {
		a.Detail = "every node and client in a network namespace of its own; killing one process ends all of an experiment"
		return a
	}
	a.Detail = "nodes listen on loopback: " + why
	if runtime.GOOS == "linux" {
		a.Install = "run as root, or allow user namespaces: sysctl -w user.max_user_namespaces=15000 (and kernel.unprivileged_userns_clone=1 if it exists)"
	} else {
		a.Install = "namespaces exist on Linux only: run in a Linux machine or container for them"
	}
	return a
}

// found says whether a flavor's program is here.
func found(f cluster.Flavor) Ability {
	switch {
	case f.Program != "" && os.Getenv(f.BinaryEnv) == "":
		a := program(f.Program, f.Install)
		a.Name = f.Name
		return a
	case f.BinaryEnv == "":
		return Ability{Name: f.Name, OK: true, Detail: f.About}
	}
	a := Ability{Name: f.Name, Install: f.Install}
	path := os.Getenv(f.BinaryEnv)
	if path == "" {
		a.Detail = f.BinaryEnv + " is not set"
		return a
	}
	_, err := exec.LookPath(path)
	if f.Document != nil { // the command may hand it to an interpreter
		_, err = os.Stat(path)
	}
	if err != nil {
		a.Detail = f.BinaryEnv + ": " + err.Error()
		return a
	}
	return Ability{Name: f.Name, OK: true, Detail: path}
}

// program looks for a command of the host, also where Debian keeps daemons.
func program(name, install string) Ability {
	for _, candidate := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return Ability{Name: name, OK: true, Detail: path}
		}
	}
	return Ability{Name: name, Detail: "not found", Install: install}
}
