package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Objects of Chaos Mesh. A user makes the first. Chaos Mesh makes the second for each pod, out of all of
// the first.
var (
	networkChaos    = schema.GroupVersionResource{Group: "chaos-mesh.org", Version: "v1alpha1", Resource: "networkchaos"}
	podNetworkChaos = schema.GroupVersionResource{Group: "chaos-mesh.org", Version: "v1alpha1", Resource: "podnetworkchaos"}
)

// chaosFor ends a NetworkChaos that is left, long after any fault.
const chaosFor = time.Hour

// A NetworkChaos has Chaos Mesh disturb what a pod sends to some addresses.
type NetworkChaos struct {
	Name   string
	Pod    string
	To     []string       // addresses
	Fields map[string]any // of its spec: the action and its parameters
}

// ChaosMesh is an error that wraps [errors.ErrUnsupported] if Chaos Mesh is not installed.
func (a *API) ChaosMesh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	var list metav1.APIResourceList
	body, err := a.streams.Get().AbsPath("/apis/" + networkChaos.GroupVersion().String()).DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	has := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == networkChaos.Resource })
	if apierrors.IsNotFound(err) || err == nil && !has {
		return unsupported("the cluster has no Chaos Mesh; install it, or leave the arm out")
	}
	return failed(err, "look for Chaos Mesh")
}

// Inject makes a NetworkChaos. Chaos Mesh injects it some time later.
func (n *Namespace) Inject(ctx context.Context, c NetworkChaos) error {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	meta, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.PartialObjectMetadata{ObjectMeta: n.meta(c.Name, "")})
	if err != nil {
		return err
	}
	// Pods as a target would have it act at the other end too, on all that comes from these addresses.
	to := make([]any, len(c.To))
	for i, address := range c.To {
		to[i] = address
	}
	spec := map[string]any{
		"mode": "all", "selector": map[string]any{"pods": map[string]any{n.Name(): []any{c.Pod}}},
		"direction": "to", "externalTargets": to, "duration": chaosFor.String(),
	}
	maps.Copy(spec, c.Fields)
	meta["spec"] = spec
	wanted := &unstructured.Unstructured{Object: meta}
	wanted.SetGroupVersionKind(networkChaos.GroupVersion().WithKind("NetworkChaos"))
	_, err = n.of(networkChaos).Create(ctx, wanted, metav1.CreateOptions{})
	return failed(err, "make NetworkChaos %s", c.Name)
}

// An Injected is what Chaos Mesh says of a NetworkChaos.
type Injected struct {
	Gone  bool
	Done  bool   // it is injected, at its pod
	Why   string // a failure
	stuck string // the pod, if it is still to be injected there
}

// Injected reads the status of a NetworkChaos.
func (n *Namespace) Injected(ctx context.Context, name string) (is Injected, err error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	found, err := n.of(networkChaos).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Injected{Gone: true}, nil
	}
	if err != nil {
		return is, failed(err, "read NetworkChaos %s", name)
	}
	var read struct {
		Status struct {
			Conditions []struct{ Type, Status string }
			Experiment struct {
				ContainerRecords []struct {
					ID, Phase     string
					InjectedCount int
					Events        []struct{ Type, Message string }
				}
			}
		}
	}
	text, err := found.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		return is, fmt.Errorf("read NetworkChaos %s: %w", name, err)
	}
	all, count := false, 0
	for _, c := range read.Status.Conditions {
		all = all || c.Type == "AllInjected" && c.Status == "True"
	}
	for _, r := range read.Status.Experiment.ContainerRecords {
		count += r.InjectedCount
		if strings.HasPrefix(r.Phase, "Not Injected/") {
			_, is.stuck, _ = strings.Cut(r.ID, "/")
		}
		for _, e := range r.Events {
			if e.Type == "Failed" {
				is.Why = e.Message
			}
		}
	}
	is.Done = all && count > 0 // of no pods all are injected
	return is, nil
}

// Recover removes a NetworkChaos, and reads what is left. It is called until the NetworkChaos is gone.
// Chaos Mesh finishes every injection before it removes one, so Recover ends attempts that fail.
func (n *Namespace) Recover(ctx context.Context, name string) (Injected, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	err := n.of(networkChaos).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return Injected{Gone: true}, nil
	}
	if err != nil {
		return Injected{}, failed(err, "remove NetworkChaos %s", name)
	}
	is, err := n.Injected(ctx, name)
	if is.stuck != "" {
		err = errors.Join(err, n.giveUp(ctx, name, is.stuck))
	}
	return is, err
}

// giveUp takes the part of a NetworkChaos out of the PodNetworkChaos of a pod.
func (n *Namespace) giveUp(ctx context.Context, name, pod string) error {
	all, err := n.of(podNetworkChaos).Get(ctx, pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return failed(err, "read PodNetworkChaos %s", pod)
	}
	for _, kind := range []string{"ipsets", "iptables", "tcs"} {
		list, _, _ := unstructured.NestedSlice(all.Object, "spec", kind)
		list = slices.DeleteFunc(list, func(one any) bool {
			source, _, _ := unstructured.NestedString(one.(map[string]any), "source")
			return source == n.Name()+"/"+name
		})
		if err := unstructured.SetNestedSlice(all.Object, list, "spec", kind); err != nil {
			return err
		}
	}
	_, err = n.of(podNetworkChaos).Update(ctx, all, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // Chaos Mesh changes it too; the next call tries again
		return nil
	}
	return failed(err, "change PodNetworkChaos %s", pod)
}
