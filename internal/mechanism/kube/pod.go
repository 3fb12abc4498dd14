package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// container is the name of the one that a node runs in.
const container = "broker"

// SelfPath is the path of this program in the image of a release. An init container copies it to
// Self in every pod, for commands in an image without a shell.
const (
	SelfPath = "/usr/bin/rmq-mcp"
	SelfDir  = "/run/rmq-mcp"
	Self     = SelfDir + "/rmq-mcp"
)

// A Spec is a pod to be made.
type Spec struct {
	Node    string // the pod's name, and its label
	Image   string
	Command []string
	Dir     string            // working directory
	Files   map[string]string // by their paths in the pod: the keys of the secret named as the node
	Data    string            // directory at which the volume named as the node is mounted
	Self    string            // image of this program
	Grace   time.Duration     // from SIGTERM to SIGKILL when the pod is deleted in order
}

// A Pod is one that was made, running or not. A name may be another pod's later; its UID is
// not.
type Pod struct {
	space *Namespace
	name  string
	uid   types.UID
}

// Pod makes a pod that nothing starts again: its broker runs once, and its end is kept.
func (n *Namespace) Pod(ctx context.Context, s Spec) (*Pod, error) {
	self := corev1.VolumeMount{Name: "self", MountPath: SelfDir}
	mounts := []corev1.VolumeMount{self, {Name: "data", MountPath: s.Data}}
	for _, file := range slices.Sorted(maps.Keys(s.Files)) {
		mounts = append(mounts, corev1.VolumeMount{Name: "files", MountPath: file, SubPath: s.Files[file], ReadOnly: true})
	}
	none, yes, grace := false, true, int64(s.Grace.Seconds())
	made, err := n.create(ctx, pods, &corev1.Pod{ObjectMeta: n.meta(s.Node, s.Node), Spec: corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		ShareProcessNamespace:         &yes, // the kernel drops a SIGKILL that the first process of a namespace gets from within
		AutomountServiceAccountToken:  &none,
		EnableServiceLinks:            &none,
		TerminationGracePeriodSeconds: &grace,
		Affinity:                      n.apart(),
		InitContainers: []corev1.Container{{
			Name: "rmq-mcp", Image: s.Self, Command: []string{SelfPath, "inside", "copy", Self}, VolumeMounts: []corev1.VolumeMount{self},
		}},
		Containers: []corev1.Container{{
			Name: container, Image: s.Image, Command: s.Command, WorkingDir: s.Dir, VolumeMounts: mounts,
			Env: []corev1.EnvVar{{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
		}},
		Volumes: []corev1.Volume{
			{Name: "self", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "files", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s.Node}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.Node}}},
		},
	}})
	if err != nil {
		return nil, err
	}
	return &Pod{space: n, name: s.Node, uid: made.GetUID()}, nil
}

// apart has the scheduler put the pods of a run on machines of their own, as far as it can.
func (n *Namespace) apart() *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
		Weight: 100,
		PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelRun: n.Name()}},
		},
	}}}}
}

// A State is what the API server says of a pod's broker.
type State struct {
	UID       types.UID
	Machine   string // that it is on
	Running   bool
	Started   time.Time
	Ended     bool
	Exit      int // status, valid once it has ended; 128+n for signal n
	OOMKilled bool
	Removed   bool   // the pod is gone, or another has its name
	Waiting   string // why it does not run yet
	Hopeless  bool   // and will not run by itself
}

// stateOf reads a pod.
func (p *Pod) stateOf(found *unstructured.Unstructured) (State, error) {
	if found.GetUID() != p.uid {
		return State{UID: p.uid, Removed: true}, nil
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &pod); err != nil {
		return State{}, fmt.Errorf("read the state of pod %s: %w", p.name, err)
	}
	s := State{UID: p.uid, Machine: pod.Spec.NodeName}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			s.Waiting = fmt.Sprintf("no machine takes it: %s", c.Message)
		}
	}
	for _, c := range pod.Status.InitContainerStatuses {
		s.wait(c, "its init container ")
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == container {
			s.wait(c, "")
			s.read(c)
		}
	}
	if pod.Status.Phase == corev1.PodFailed && !s.Ended { // it was evicted before it ran, or its machine is gone
		s.Ended, s.Exit, s.Waiting = true, 0, fmt.Sprintf("%s: %s", pod.Status.Reason, pod.Status.Message)
	}
	return s, nil
}

// wait notes why a container does not run.
func (s *State) wait(c corev1.ContainerStatus, which string) {
	if t := c.State.Terminated; t != nil && which != "" && t.ExitCode != 0 {
		s.Waiting, s.Hopeless = fmt.Sprintf("%sfailed with status %d: %s", which, t.ExitCode, t.Message), true
	}
	w := c.State.Waiting
	if w == nil || w.Reason == "PodInitializing" || w.Reason == "ContainerCreating" {
		return
	}
	s.Waiting = fmt.Sprintf("%swaits: %s: %s", which, w.Reason, w.Message)
	s.Hopeless = slices.Contains([]string{"ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError"}, w.Reason)
}

func (s *State) read(c corev1.ContainerStatus) {
	if r := c.State.Running; r != nil {
		s.Running, s.Started = true, r.StartedAt.Time
	}
	if t := c.State.Terminated; t != nil {
		s.Ended, s.Exit, s.OOMKilled, s.Started = true, int(t.ExitCode), t.Reason == "OOMKilled", t.StartedAt.Time
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
		return State{UID: p.uid, Removed: true}, "", nil
	}
	if err != nil {
		return State{}, "", failed(err, "read the state of pod %s", p.name)
	}
	s, err := p.stateOf(found)
	return s, found.GetResourceVersion(), err
}

// Await waits until the broker runs or has ended. The error says why it does not run.
func (p *Pod) Await(ctx context.Context) (State, error) {
	s, err := p.until(ctx, func(s State) bool { return s.Running || s.Ended || s.Removed || s.Hopeless })
	switch {
	case err != nil && s.Waiting != "":
		return s, fmt.Errorf("start pod %s: it does not run: %s", p.name, s.Waiting)
	case err != nil:
		return s, fmt.Errorf("start pod %s: %w", p.name, err)
	case s.Removed:
		return s, fmt.Errorf("start pod %s: it was removed", p.name)
	case s.Hopeless:
		return s, fmt.Errorf("start pod %s: %s", p.name, s.Waiting)
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
		if err == nil {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case <-time.After(200 * time.Millisecond): // the server closes watches, and may be away
		}
	}
}

// watch is an error when the watch ends before the condition holds.
func (p *Pod) watch(ctx context.Context, version string, holds func(State) bool) (State, error) {
	w, err := p.space.of(pods).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + p.name, ResourceVersion: version})
	if err != nil {
		return State{}, err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		found, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			break // 410: the version is too old
		}
		s, err := p.stateOf(found)
		if event.Type == watch.Deleted && found.GetUID() == p.uid && !s.Ended {
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

// Name is the node's.
func (p *Pod) Name() string { return p.name }

// UID tells it from other pods of its name.
func (p *Pod) UID() string { return string(p.uid) }
