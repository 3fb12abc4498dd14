// Package chaosmesh has the Chaos Mesh of a Kubernetes cluster inject faults of the network between pods.
// Chaos Mesh records injections, and knows nothing of their effect.
package chaosmesh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// An Injector has Chaos Mesh disturb links between the pods of a namespace. A NetworkChaos is at one pod,
// for the packets that it sends on one link.
type Injector struct {
	space objects
	pod   func(host string) (name string, err error)

	rendering sync.Mutex
	made      int // names so far

	mu    sync.Mutex
	stay  []*placed
	leave []*placed // to be taken back
}

// objects are the NetworkChaos of a namespace: [kube.Namespace].
type objects interface {
	Inject(context.Context, kube.NetworkChaos) error
	Injected(ctx context.Context, name string) (kube.Injected, error)
	Recover(ctx context.Context, name string) (kube.Injected, error)
}

// A placed is a NetworkChaos that may be there.
type placed struct {
	kube.NetworkChaos
	fault, host string
}

func (p *placed) same(q *placed) bool {
	a, b := p.NetworkChaos, q.NetworkChaos
	a.Name, b.Name = "", ""
	return p.fault == q.fault && reflect.DeepEqual(a, b)
}

// injectBound is how long Chaos Mesh may take to inject. It needs tenths of a second.
const injectBound = 5 * time.Second

// New injects nothing yet. Pod returns the pod of a host.
func New(space *kube.Namespace, pod func(host string) (string, error)) *Injector {
	return &Injector{space: space, pod: pod}
}

// Name is that of the mechanism.
func (*Injector) Name() string { return "chaos-mesh" }

// Lacks says why Chaos Mesh cannot do something to packets, "" if it can. How is of [router.Queue].
func (*Injector) Lacks(do router.Action, how netqueue.Treatment) string {
	switch {
	case do != router.Drop && do != router.Queue:
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

func us(d time.Duration) string { return fmt.Sprintf("%dus", d.Microseconds()) }

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
	case d.How.Do == netqueue.Delay:
		return by("delay", map[string]any{"latency": us(d.How.Delay), "jitter": us(d.How.Jitter)})
	case d.How.Do == netqueue.Drop:
		return by("loss", map[string]any{"loss": percent})
	}
	action := string(d.How.Do) // duplicate, corrupt
	return by(action, map[string]any{action: percent})
}

// Render has Chaos Mesh do exactly this, and waits until it has, for a bounded time. [Injector.Injected]
// tells whether it has. It takes back replaced ones after that.
func (i *Injector) Render(ctx context.Context, wanted []router.Disturbance) error {
	i.rendering.Lock()
	defer i.rendering.Unlock()
	var errs []error
	var stay, fresh []*placed
	unknown := map[string]bool{}
	before := i.of(&i.stay, "")
	for _, d := range wanted {
		chaos, err := i.chaos(d)
		if err != nil {
			errs, unknown[d.Fault] = append(errs, err), true
			continue
		}
		for _, p := range chaos {
			if at := slices.IndexFunc(before, p.same); at >= 0 {
				stay = append(stay, before[at])
				continue
			}
			i.made++
			p.Name = fmt.Sprintf("%s-%d", p.fault, i.made)
			stay = append(stay, p) // it may be there after an error
			if err := i.space.Inject(ctx, p.NetworkChaos); err != nil {
				errs, unknown[d.Fault] = append(errs, err), true
				continue
			}
			fresh = append(fresh, p)
		}
	}
	i.await(ctx, fresh)
	i.mu.Lock()
	for _, p := range before {
		switch {
		case slices.Contains(stay, p):
		case unknown[p.fault]:
			stay = append(stay, p)
		default:
			i.leave = append(i.leave, p)
		}
	}
	i.stay = stay
	i.mu.Unlock()
	return errors.Join(append(errs, i.recover(ctx, ""))...)
}

// chaos is a disturbance as one NetworkChaos for each host that sends.
func (i *Injector) chaos(d router.Disturbance) (all []*placed, err error) {
	for _, host := range slices.Sorted(maps.Keys(d.From)) {
		pod, err := i.pod(host)
		if err != nil {
			return nil, err
		}
		p := &placed{NetworkChaos: kube.NetworkChaos{Pod: pod, Fields: fields(d)}, fault: d.Fault, host: host}
		for _, address := range d.From[host] {
			p.To = append(p.To, address.String())
		}
		all = append(all, p)
	}
	return all, nil
}

// of returns those of a fault in a list, "" for any.
func (i *Injector) of(list *[]*placed, fault string) []*placed {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(*list), func(p *placed) bool { return fault != "" && p.fault != fault })
}

// await waits until Chaos Mesh has injected these, or their time is over.
func (i *Injector) await(ctx context.Context, fresh []*placed) {
	ctx, cancel := context.WithTimeout(ctx, injectBound)
	defer cancel()
	for len(fresh) > 0 && ctx.Err() == nil {
		fresh = slices.DeleteFunc(fresh, func(p *placed) bool {
			is, err := i.space.Injected(ctx, p.Name)
			return err == nil && is.Done
		})
		if len(fresh) > 0 {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// recover takes back the leaving ones of a fault, "" for any, and forgets those that are gone.
func (i *Injector) recover(ctx context.Context, fault string) (err error) {
	for _, p := range i.of(&i.leave, fault) {
		is, failed := i.space.Recover(ctx, p.Name)
		err = errors.Join(err, failed)
		if failed == nil && is.Gone {
			i.mu.Lock()
			i.leave = slices.DeleteFunc(i.leave, func(q *placed) bool { return q == p })
			i.mu.Unlock()
		}
	}
	return err
}

// Injected says of each host that sends on a link of a fault why Chaos Mesh has not injected it there, ""
// if it has.
func (i *Injector) Injected(ctx context.Context, fault string) (map[string]string, error) {
	hosts := map[string]string{}
	for _, p := range i.of(&i.stay, fault) {
		is, err := i.space.Injected(ctx, p.Name)
		switch {
		case err != nil:
			return nil, err
		case is.Gone:
			hosts[p.host] = "NetworkChaos " + p.Name + " is gone, and rmq-mcp did not remove it"
		case !is.Done:
			hosts[p.host] = cmp.Or(is.Why, "NetworkChaos "+p.Name+" is not injected")
		default:
			hosts[p.host] = cmp.Or(hosts[p.host], "")
		}
	}
	return hosts, nil
}

// Left is an error if something of a fault that was taken back is still there.
func (i *Injector) Left(ctx context.Context, fault string) error {
	err := i.recover(ctx, fault)
	for _, p := range slices.Concat(i.of(&i.stay, fault), i.of(&i.leave, fault)) {
		err = errors.Join(err, fmt.Errorf("NetworkChaos %s is still there", p.Name))
	}
	return err
}
