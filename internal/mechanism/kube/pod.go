package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// The containers of a node's pod: container runs the broker, beside may change the network.
const (
	container = "broker"
	beside    = "network"
)

// SelfPath is the path of this program in the image of a release. An init container copies it to
// Self in every pod, for commands in an image without a shell.
const (
	SelfPath = "/usr/bin/rmq-mcp"
	SelfDir  = "/run/rmq-mcp"
	Self     = SelfDir + "/rmq-mcp"
)

// A Spec is a pod to be made.
type Spec struct {
	Name    string // of the pod, that no other pod of the run has
	Node    string // its label
	Machine string // that it must be on; "" for any
	Image   string
	Command []string
	Dir     string            // working directory
	Files   map[string]string // by their paths in the pod: the keys of the secret named as the node
	Data    string            // directory at which the volume named as the node is mounted; "" for none
	Stdin   bool              // its input is that of [Pod.Streams], and ends with it
	Self    string            // image of this program
	Grace   time.Duration     // from SIGTERM to SIGKILL when the pod is deleted in order
}

// A Pod is one that was made, running or not. A name may be another pod's later; its UID is
// not.
type Pod struct {
	space     *Namespace
	name      string
	uid       types.UID
	container string        // of its broker
	grace     time.Duration // from SIGTERM to SIGKILL
}

// Pod makes a pod that nothing starts again: its broker runs once, and its end is kept.
func (n *Namespace) Pod(ctx context.Context, s Spec) (*Pod, error) {
	self := corev1.VolumeMount{Name: "self", MountPath: SelfDir}
	mounts := []corev1.VolumeMount{self}
	volumes := []corev1.Volume{{Name: "self", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	if len(s.Files) > 0 {
		volumes = append(volumes, corev1.Volume{Name: "files", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s.Node}}})
	}
	for _, file := range slices.Sorted(maps.Keys(s.Files)) {
		mounts = append(mounts, corev1.VolumeMount{Name: "files", MountPath: file, SubPath: s.Files[file], ReadOnly: true})
	}
	if s.Data != "" {
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.Node}
		volumes = append(volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
		mounts = append(mounts, corev1.VolumeMount{Name: "data", MountPath: s.Data})
	}
	address := []corev1.EnvVar{{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}
	none, yes, grace := false, true, int64(s.Grace.Seconds())
	made, err := n.create(ctx, pods, &corev1.Pod{ObjectMeta: n.meta(s.Name, s.Node), Spec: corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		ShareProcessNamespace:         &yes, // the kernel drops a SIGKILL that the first process of a namespace gets from within
		ServiceAccountName:            account,
		AutomountServiceAccountToken:  &none,
		EnableServiceLinks:            &none,
		TerminationGracePeriodSeconds: &grace,
		Affinity:                      n.place(s.Machine),
		InitContainers: []corev1.Container{{
			Name: "rmq-mcp", Image: s.Self, Command: []string{SelfPath, "inside", "copy", Self}, VolumeMounts: []corev1.VolumeMount{self},
		}},
		Containers: []corev1.Container{{
			Name: container, Image: s.Image, Command: s.Command, WorkingDir: s.Dir, VolumeMounts: mounts,
			Env: address, Stdin: s.Stdin, StdinOnce: s.Stdin,
		}, {
			Name: beside, Image: s.Self, Command: []string{SelfPath, "inside", "idle"}, Env: address,
			SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN", "NET_RAW"}}},
		}},
		Volumes: volumes,
	}})
	if err != nil {
		return nil, err
	}
	return &Pod{space: n, name: s.Name, uid: made.GetUID(), container: container, grace: s.Grace}, nil
}

// place has the scheduler put the pods of a run on machines of their own, as far as it can, and
// the next pod of a node on the machine of the first, which has its image and its volume.
func (n *Namespace) place(machine string) *corev1.Affinity {
	a := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
		Weight: 100,
		PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelRun: n.Name()}},
		},
	}}}}
	if machine != "" {
		a.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{machine}}},
		}}}}
	}
	return a
}

// A State is what the API server says of a pod's broker.
type State struct {
	Machine   string // that it is on
	Address   string // of the pod
	Image     string // as its machine identifies it
	Running   bool
	Started   time.Time
	Ended     bool
	Exit      int // status, valid once it has ended; 128+n for signal n
	OOMKilled bool
	Removed   bool   // the pod is gone
	Why       string // why it does not run, of all but the broker's own doing; "" for that
	Deleted   bool   // that is why, and nothing more is known
	Failing   bool   // its machine tries again, as when it pulls an image
	Hopeless  bool   // it will not run by itself
}

// stateOf reads a pod.
func (p *Pod) stateOf(found *unstructured.Unstructured) (State, error) {
	if found.GetUID() != p.uid {
		return State{Removed: true}, nil
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &pod); err != nil {
		return State{}, fmt.Errorf("read the state of pod %s: %w", p.name, err)
	}
	s := State{Machine: pod.Spec.NodeName, Address: pod.Status.PodIP}
	for _, c := range pod.Status.InitContainerStatuses {
		s.wait(c, "its init container ")
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == p.container {
			s.wait(c, "")
			s.read(c)
		}
	}
	if !s.Running {
		s.disrupted(pod)
	}
	return s, nil
}

// wait notes why a container does not run.
func (s *State) wait(c corev1.ContainerStatus, which string) {
	if t := c.State.Terminated; t != nil && which != "" && t.ExitCode != 0 {
		s.Why, s.Hopeless = fmt.Sprintf("%sfailed with status %d: %s", which, t.ExitCode, t.Message), true
	}
	w := c.State.Waiting
	if w == nil || w.Reason == "PodInitializing" {
		return
	}
	s.Why = strings.TrimSuffix(fmt.Sprintf("%swaits: %s: %s", which, w.Reason, w.Message), ": ")
	s.Failing = slices.Contains([]string{"ImagePullBackOff", "CreateContainerError"}, w.Reason)
	s.Hopeless = slices.Contains([]string{"ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError"}, w.Reason)
}

// unknown are the reasons of an end with a status that is not the broker's: it never ran, or
// its machine lost sight of it.
var unknown = []string{"ContainerStatusUnknown", "StartError", "ContainerCannotRun", "Unknown"}

func (s *State) read(c corev1.ContainerStatus) {
	s.Image = c.ImageID
	if r := c.State.Running; r != nil {
		s.Running, s.Started = true, r.StartedAt.Time
	}
	if t := c.State.Terminated; t != nil {
		s.Ended, s.Exit, s.OOMKilled, s.Started = true, int(t.ExitCode), t.Reason == "OOMKilled", t.StartedAt.Time
		if slices.Contains(unknown, t.Reason) {
			s.Why = strings.TrimSuffix(t.Reason+": "+t.Message, ": ")
		}
	}
}

// disrupted notes why the cluster ended a pod, or never let it run.
func (s *State) disrupted(pod corev1.Pod) {
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			s.Why = "no machine takes it: " + c.Message
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			s.Why = c.Reason + ": " + c.Message
		}
	}
	if reason := pod.Status.Reason; reason != "" {
		s.Why = strings.TrimSuffix(reason+": "+pod.Status.Message, ": ")
	}
	if pod.DeletionTimestamp != nil && s.Why == "" {
		s.Why, s.Deleted = "somebody deleted its pod", true
	}
	if pod.Status.Phase == corev1.PodFailed && !s.Ended {
		s.Ended = true
		if s.Why == "" {
			s.Why = "its pod failed before it ran"
		}
	}
}

// State asks the API server.
func (p *Pod) State(ctx context.Context) (State, error) {
	s, _, err := p.look(ctx)
	return s, err
}

// look returns the state, and the version of the pod from which a watch continues.
func (p *Pod) look(ctx context.Context) (State, string, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	found, err := p.space.of(pods).Get(ctx, p.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return State{Removed: true}, "", nil
	}
	if err != nil {
		return State{}, "", failed(err, "read the state of pod %s", p.name)
	}
	s, err := p.stateOf(found)
	return s, found.GetResourceVersion(), err
}

// failingBound is how long a machine may fail to start a pod, as when a registry is away.
const failingBound = 15 * time.Second

// Await waits until the broker runs or has ended. The error says why it did not run.
func (p *Pod) Await(ctx context.Context) (State, error) {
	bound, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := p.until(bound, func(s State) bool {
		if s.Failing {
			time.AfterFunc(failingBound, cancel)
		}
		return s.Running || s.Ended || s.Removed || s.Hopeless
	})
	switch {
	case s.Why != "" && !s.Running:
		return s, fmt.Errorf("start pod %s: %s", p.name, s.Why)
	case err != nil:
		return s, fmt.Errorf("start pod %s: %w", p.name, err)
	case s.Removed:
		return s, fmt.Errorf("start pod %s: it was removed", p.name)
	}
	return s, nil
}

// Wait returns when the broker has ended, and how. It waits through times without an API
// server.
func (p *Pod) Wait(ctx context.Context) (State, error) {
	return p.until(ctx, func(s State) bool { return s.Ended || s.Removed })
}

// until watches the pod until a condition holds, and returns the last state that it saw.
func (p *Pod) until(ctx context.Context, holds func(State) bool) (State, error) {
	var last State
	for {
		s, version, err := p.look(ctx)
		if err == nil {
			if last = s; holds(s) {
				return s, nil
			}
			s, err = p.watch(ctx, version, holds)
		}
		if err == nil || apierrors.IsForbidden(err) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return last, errors.Join(ctx.Err(), err)
		case <-time.After(200 * time.Millisecond): // the server closes watches, and may be away
		}
	}
}

// watch is an error when the watch ends before the condition holds.
func (p *Pod) watch(ctx context.Context, version string, holds func(State) bool) (State, error) {
	w, err := p.space.of(pods).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + p.name, ResourceVersion: version})
	if err != nil {
		return State{}, failed(err, "watch pod %s", p.name)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		found, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			break // 410: the version is too old
		}
		s, err := p.stateOf(found)
		if event.Type == watch.Deleted {
			s.Removed, s.Running = true, false
		}
		if err == nil && holds(s) {
			return s, nil
		}
	}
	return State{}, fmt.Errorf("watch pod %s: the server ended it", p.name)
}

// Delete ends the broker at once, removes the pod and waits until it is gone. An absent pod is
// no error.
func (p *Pod) Delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	now := int64(0)
	err := p.space.of(pods).Delete(ctx, p.name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another pod has the name by now
		return nil
	}
	if err == nil {
		_, err = p.until(ctx, func(s State) bool { return s.Removed })
	}
	return failed(err, "remove pod %s", p.name)
}

// Find finds a pod that was made elsewhere. Its first container is taken for the broker's.
func (n *Namespace) Find(ctx context.Context, name string) (*Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	found, err := n.of(pods).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, failed(err, "find pod %s of namespace %s", name, n.Name())
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &pod); err != nil {
		return nil, fmt.Errorf("read pod %s: %w", name, err)
	}
	p := &Pod{space: n, name: name, uid: pod.UID, container: pod.Spec.Containers[0].Name}
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		p.grace = time.Duration(*s) * time.Second
	}
	return p, nil
}

// Next waits for the pod of the same name that is made once this one is gone.
func (p *Pod) Next(ctx context.Context) (*Pod, error) {
	for {
		next, err := p.space.Find(ctx, p.name)
		if err == nil && next.uid != p.uid {
			return next, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// End has the pod deleted in order: its broker gets SIGTERM, and SIGKILL after [Pod.Grace].
func (p *Pod) End(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	err := p.space.of(pods).Delete(ctx, p.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.uid}})
	return failed(err, "delete pod %s", p.name)
}

// Grace is the time between SIGTERM and SIGKILL.
func (p *Pod) Grace() time.Duration { return p.grace }

// DeletePod is [Pod.Delete] of a pod by its name.
func (n *Namespace) DeletePod(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	now := int64(0)
	err := n.of(pods).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return failed(err, "remove pod %s", name)
}

// Name is the pod's own.
func (p *Pod) Name() string { return p.name }

// UID tells it from other pods of its name.
func (p *Pod) UID() string { return string(p.uid) }
