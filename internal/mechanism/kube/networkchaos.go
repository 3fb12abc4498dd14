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

// A NetworkChaos has Chaos Mesh disturb packets from some pods to others.
type NetworkChaos struct {
	Name      string
	From, To  []string       // names of pods
	Addresses []string       // further ones of To
	Fields    map[string]any // of its spec: the action and its parameters
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

// Inject makes a NetworkChaos. Chaos Mesh injects it some time later. A field unknown to this version of
// Chaos Mesh is an error that wraps [errors.ErrUnsupported].
func (n *Namespace) Inject(ctx context.Context, c NetworkChaos) error {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	meta := n.meta(c.Name, "")
	selected := func(pods []string) map[string]any {
		return map[string]any{"mode": "all", "selector": map[string]any{"pods": map[string]any{n.Name(): texts(pods)}}}
	}
	spec := selected(c.From)
	spec["direction"], spec["target"], spec["duration"] = "to", selected(c.To), chaosFor.String()
	if len(c.Addresses) > 0 {
		spec["externalTargets"] = texts(c.Addresses)
	}
	maps.Copy(spec, c.Fields)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.PartialObjectMetadata{ObjectMeta: meta})
	if err != nil {
		return err
	}
	fields["spec"] = spec
	wanted := &unstructured.Unstructured{Object: fields}
	wanted.SetGroupVersionKind(networkChaos.GroupVersion().WithKind("NetworkChaos"))
	made, err := n.of(networkChaos).Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil {
		return failed(err, "make NetworkChaos %s", c.Name)
	}
	for name := range c.Fields {
		if _, ok, _ := unstructured.NestedFieldNoCopy(made.Object, "spec", name); !ok {
			return unsupported("the Chaos Mesh of the cluster does not know %s of a NetworkChaos", name)
		}
	}
	return nil
}

func texts(list []string) (out []any) {
	for _, text := range list {
		out = append(out, text)
	}
	return out
}

// An Injected is what Chaos Mesh says of a NetworkChaos.
type Injected struct {
	Gone   bool
	All    bool           // everything is injected, at all pods
	Counts map[string]int // injections at pods, by their names
	Why    string         // the last failure
	waits  []string       // pods at which it is still to be injected
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
					Events        []struct{ Type, Operation, Message string }
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
	for _, c := range read.Status.Conditions {
		is.All = is.All || c.Type == "AllInjected" && c.Status == "True"
	}
	is.Counts = map[string]int{}
	for _, r := range read.Status.Experiment.ContainerRecords {
		_, pod, _ := strings.Cut(r.ID, "/")
		is.Counts[pod] += r.InjectedCount
		if strings.HasPrefix(r.Phase, "Not Injected/") {
			is.waits = append(is.waits, pod)
		}
		for _, e := range r.Events {
			if e.Type == "Failed" {
				is.Why = e.Message
			}
		}
	}
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
	for _, pod := range is.waits {
		err = errors.Join(err, n.giveUp(ctx, name, pod))
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
	if apierrors.IsConflict(err) { // Chaos Mesh changes it too; the next call tries again
		return nil
	}
	return failed(err, "change PodNetworkChaos %s", pod)
}
