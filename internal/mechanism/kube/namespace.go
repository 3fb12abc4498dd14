package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// removeBound is how long a namespace may take to go.
const removeBound = 3 * time.Minute

// Layer begins the name of what stands for the namespace of a run.
const Layer = "pods"

// A Made finds the namespace of a run after the death of its keeper.
type Made struct {
	Target Target `json:"target"`
	Run    string `json:"run"`
}

// A Namespace holds all that a run makes.
type Namespace struct {
	api  *API
	run  string
	name string // of one that is no run's
}

// Make makes the namespace of a run.
func (a *API) Make(ctx context.Context, run string) (*Namespace, error) {
	n := a.Of(run)
	meta := n.meta(n.Name(), "")
	meta.Labels["pod-security.kubernetes.io/enforce"] = "privileged" // for NET_ADMIN
	_, err := n.create(ctx, namespaces, &corev1.Namespace{ObjectMeta: meta})
	if err == nil { // the default one comes some time later, and pods are refused until then
		_, err = n.create(ctx, accounts, &corev1.ServiceAccount{ObjectMeta: n.meta(account, "")})
	}
	return n, err
}

// In is a namespace that is no run's.
func (a *API) In(name string) *Namespace { return &Namespace{api: a, name: name} }

// The namespace of a run may exist or not.
func (a *API) Of(run string) *Namespace { return &Namespace{api: a, run: run} }

// account is the service account of the nodes' pods. It has no rights.
const account = "nodes"

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// Name is the namespace's own: rmq- and the run.
func (n *Namespace) Name() string {
	if n.name != "" {
		return n.name
	}
	name := "rmq-" + strings.Trim(notInNames.ReplaceAllString(strings.ToLower(n.run), "-"), "-")
	if len(name) > 63 { // of a DNS label; the end of a run's name tells it from others
		name = name[:40] + "-" + strings.TrimLeft(name[len(name)-20:], "-")
	}
	return name
}

// meta names an object, and labels it as the run's. Node is "" for what is of no node.
func (n *Namespace) meta(name, node string) metav1.ObjectMeta {
	labels := map[string]string{LabelRun: n.Name(), "app.kubernetes.io/managed-by": "rmq-mcp"}
	if node != "" {
		labels[LabelNode] = node
	}
	return metav1.ObjectMeta{Name: name, Labels: labels}
}

// create makes an object and returns it as it was made.
func (n *Namespace) create(ctx context.Context, kind schema.GroupVersionResource, object metav1.Object) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{Object: fields}
	made.SetGroupVersionKind(kind.GroupVersion().WithKind(reflect.TypeOf(object).Elem().Name()))
	made, err = n.of(kind).Create(ctx, made, metav1.CreateOptions{})
	return made, failed(err, "make %s %s", strings.TrimSuffix(kind.Resource, "s"), object.GetName())
}

// of are the namespace's objects of a kind; namespaces are in none.
func (n *Namespace) of(kind schema.GroupVersionResource) dynamic.ResourceInterface {
	if kind == namespaces {
		return n.api.objects.Resource(kind)
	}
	return n.api.objects.Resource(kind).Namespace(n.Name())
}

// Service makes a service before the pods of a node and returns its address, which outlives
// them. [Namespace.Listen] gives it its ports.
func (n *Namespace) Service(ctx context.Context, node string) (address string, err error) {
	made, err := n.create(ctx, services, &corev1.Service{ObjectMeta: n.meta(node, node), Spec: corev1.ServiceSpec{
		Selector:                 map[string]string{LabelRun: n.Name(), LabelNode: node},
		PublishNotReadyAddresses: true, // readiness is asked of the broker itself
		Ports:                    portList(map[string]int{"none": 1}, corev1.ProtocolTCP),
	}})
	if err != nil {
		return "", err
	}
	address, _, _ = unstructured.NestedString(made.Object, "spec", "clusterIP")
	if address == "" || address == "None" {
		return "", fmt.Errorf("make service %s: the cluster gave it no address", node)
	}
	return address, nil
}

// Listen sets the ports of a node's service, by their names.
func (n *Namespace) Listen(ctx context.Context, node string, tcp, udp map[string]int) error {
	ports := append(portList(tcp, corev1.ProtocolTCP), portList(udp, corev1.ProtocolUDP)...)
	return n.patch(ctx, services, node, map[string]any{"spec": map[string]any{"ports": ports}})
}

func portList(ports map[string]int, protocol corev1.Protocol) (list []corev1.ServicePort) {
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		list = append(list, corev1.ServicePort{Name: name, Port: int32(ports[name]), Protocol: protocol})
	}
	return list
}

// Secret keeps files by their names, in place of those of the same secret before. Together
// they may have a mebibyte.
func (n *Namespace) Secret(ctx context.Context, name string, files map[string][]byte) error {
	_, err := n.create(ctx, secrets, &corev1.Secret{ObjectMeta: n.meta(name, name), Data: files})
	if apierrors.IsAlreadyExists(err) {
		return n.patch(ctx, secrets, name, map[string]any{"data": files})
	}
	return err
}

// Volume claims a volume of the default storage class, unless it was claimed before.
func (n *Namespace) Volume(ctx context.Context, name string, bytes int64) error {
	if _, err := n.create(ctx, claims, &corev1.PersistentVolumeClaim{ObjectMeta: n.meta(name, name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(bytes, resource.BinarySI)}},
	}}); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// patch changes fields of an object.
func (n *Namespace) patch(ctx context.Context, kind schema.GroupVersionResource, name string, fields map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	patch, err := json.Marshal(fields)
	if err == nil {
		_, err = n.of(kind).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return failed(err, "change %s %s", strings.TrimSuffix(kind.Resource, "s"), name)
}

// Remove removes the namespace, ends its pods at once, and waits until all is gone. It reports
// whether there was one. A namespace without the run's label is left.
func (n *Namespace) Remove(ctx context.Context) (was bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, removeBound)
	defer cancel()
	found, err := n.of(namespaces).Get(ctx, n.Name(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, failed(err, "read namespace %s", n.Name())
	case found.GetLabels()[LabelRun] != n.Name():
		return false, fmt.Errorf("namespace %s is left, because rmq-mcp did not make it: it has no label %s=%s", n.Name(), LabelRun, n.Name())
	}
	now := int64(0)
	err = n.of(namespaces).Delete(ctx, n.Name(), metav1.DeleteOptions{})
	if err == nil { // the watchdog ends with the others
		err = n.of(pods).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return true, failed(err, "remove namespace %s", n.Name())
	}
	for {
		now, err := n.of(namespaces).Get(ctx, n.Name(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err == nil {
			found = now
		}
		select {
		case <-ctx.Done():
			return true, fmt.Errorf("remove namespace %s: it is still there%s; see kubectl get namespace %s -o yaml", n.Name(), remains(found), n.Name())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// The last call of a process that died may take effect for lateBound after its death.
const (
	lateBound = 3 * time.Second
	lateEvery = 500 * time.Millisecond
)

// RemoveOfDead is [Namespace.Remove] for a keeper that died. It looks again for a namespace
// that is not there, because the keeper's last call may still be on its way.
func (n *Namespace) RemoveOfDead(ctx context.Context) (was bool, err error) {
	for end := time.Now().Add(lateBound); ; {
		if was, err = n.Remove(ctx); was || err != nil || time.Now().After(end) {
			return was, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(lateEvery):
		}
	}
}

// remains is why a namespace is not gone, by its own conditions.
func remains(found *unstructured.Unstructured) (why string) {
	conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["status"] == "True" {
			why += fmt.Sprintf("; %v", c["message"])
		}
	}
	return why
}
