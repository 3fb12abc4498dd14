// Package chaosmesh has the Chaos Mesh of a Kubernetes cluster inject faults of the network between pods.
// Chaos Mesh records injections, and knows nothing of their effect.
package chaosmesh

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// An Injector has Chaos Mesh disturb links between the pods of a namespace. Each link of a fault is a
// NetworkChaos, at the pods that send.
type Injector struct {
	space objects
	pod   func(host string) (name string, err error)

	mu    sync.Mutex
	there map[string]*placed // by the name of the NetworkChaos
}

// objects are the NetworkChaos of a namespace: [kube.Namespace].
type objects interface {
	Inject(context.Context, kube.NetworkChaos) error
	Injected(ctx context.Context, name string) (kube.Injected, error)
	Recover(ctx context.Context, name string) (kube.Injected, error)
}

// A placed is a NetworkChaos that was made.
type placed struct {
	fault   string
	hosts   map[string]string // by their pods
	leaving bool              // it is to be taken back
}

// New injects nothing yet. Pod returns the pod of a host.
func New(space *kube.Namespace, pod func(host string) (string, error)) *Injector {
	return &Injector{space: space, pod: pod, there: map[string]*placed{}}
}

// Name is that of the mechanism.
func (*Injector) Name() string { return "chaos-mesh" }

// Lacks says why Chaos Mesh cannot do something to packets, "" if it can. How is of [router.Queue].
func (*Injector) Lacks(do router.Action, how netqueue.Treatment) string {
	switch {
	case !slices.Contains([]router.Action{router.Drop, router.Reject, router.Queue}, do):
		return "Chaos Mesh does not " + string(do) + " packets"
	case how.Burst > 0:
		return "Chaos Mesh has no bursts of packets"
	case how.Jitter > 0 && how.Distribution != netqueue.Uniform:
		return "a jitter of Chaos Mesh is uniform"
	case how.Do == netqueue.Delay && how.Percent < 100:
		return "Chaos Mesh delays all packets, and does not reorder some"
	case how.Silent:
		return "Chaos Mesh does not mend the checksum of a corrupted packet"
	}
	return ""
}

// fields are those of a NetworkChaos.
func fields(d router.Disturbance) map[string]any {
	percent := strconv.FormatFloat(d.How.Percent, 'f', -1, 64)
	by := func(action string, of map[string]any) map[string]any {
		of["correlation"] = "0"
		return map[string]any{"action": action, action: of}
	}
	switch {
	case d.Do == router.Drop:
		return map[string]any{"action": "partition"}
	case d.Do == router.Reject:
		return map[string]any{"action": "partition", "partitionBehavior": "reject"}
	case d.How.Do == netqueue.Delay:
		return by("delay", map[string]any{"latency": d.How.Delay.String(), "jitter": d.How.Jitter.String()})
	case d.How.Do == netqueue.Drop:
		return by("loss", map[string]any{"loss": percent})
	}
	action := string(d.How.Do) // duplicate, corrupt
	return by(action, map[string]any{action: percent})
}

// Render has Chaos Mesh do exactly this. It does so some time after the call.
func (i *Injector) Render(ctx context.Context, wanted []router.Disturbance) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	stays := map[string]bool{}
	for _, d := range wanted {
		chaos, hosts, err := i.chaos(d)
		if err != nil {
			return err
		}
		stays[chaos.Name] = true
		if p := i.there[chaos.Name]; p != nil && !p.leaving {
			continue
		}
		i.there[chaos.Name] = &placed{fault: d.Fault, hosts: hosts} // it may be there after an error
		if err := i.space.Inject(ctx, chaos); err != nil {
			return err
		}
	}
	var err error
	for name, p := range i.there {
		if !stays[name] {
			p.leaving = true
			err = errors.Join(err, i.recover(ctx, name))
		}
	}
	return err
}

// chaos is a link as a NetworkChaos, and its hosts by their pods. The name tells it from all others.
func (i *Injector) chaos(d router.Disturbance) (c kube.NetworkChaos, hosts map[string]string, err error) {
	hosts = map[string]string{}
	pods := func(names []string) (list []string) {
		for _, name := range names {
			pod, missing := i.pod(name)
			err = errors.Join(err, missing)
			hosts[pod] = name
			list = append(list, pod)
		}
		return list
	}
	c = kube.NetworkChaos{From: pods(d.From), To: pods(d.To), Fields: fields(d)}
	for _, a := range d.Addresses {
		c.Addresses = append(c.Addresses, a.String())
	}
	if err != nil {
		return c, nil, err
	}
	text, err := json.Marshal(c)
	c.Name = fmt.Sprintf("%s-%x", d.Fault, sha256.Sum256(text))[:len(d.Fault)+9]
	return c, hosts, err
}

// recover forgets a NetworkChaos if it is gone. The caller holds the lock.
func (i *Injector) recover(ctx context.Context, name string) error {
	is, err := i.space.Recover(ctx, name)
	if err == nil && is.Gone {
		delete(i.there, name)
	}
	return err
}

// Injected counts the injections of a fault at hosts. Why is "" if Chaos Mesh has injected all.
func (i *Injector) Injected(ctx context.Context, fault string) (counts map[string]int, why string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	counts = map[string]int{}
	for name, p := range i.there {
		if p.fault != fault || p.leaving {
			continue
		}
		is, err := i.space.Injected(ctx, name)
		switch {
		case err != nil:
			return nil, "", err
		case is.Gone:
			why = "NetworkChaos " + name + " is gone, and rmq-mcp did not remove it"
		case !is.All:
			why = cmp.Or(is.Why, "NetworkChaos "+name+" is not injected")
		}
		for pod, n := range is.Counts {
			counts[p.hosts[pod]] += n
		}
	}
	return counts, why, nil
}

// Left is an error if something of a fault that was taken back is still there.
func (i *Injector) Left(ctx context.Context, fault string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(i.there)) {
		p := i.there[name]
		if p.fault != fault || !p.leaving {
			continue
		}
		if err := i.recover(ctx, name); err != nil {
			return err
		}
		if i.there[name] != nil {
			return fmt.Errorf("NetworkChaos %s is still there", name)
		}
	}
	return nil
}
