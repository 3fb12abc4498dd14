package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// LeaseLayer begins the name of what stands for the leases of a run.
const LeaseLayer = "leases"

// A Held finds the leases of a run on pods after the death of its keeper.
type Held struct {
	Target Target   `json:"target"`
	Pods   []string `json:"pods"` // namespace/name
	Holder string   `json:"holder"`
}

// ErrHeld is that another run holds the lease of a pod.
var ErrHeld = errors.New("another run tests it")

// A Lease keeps other runs from a pod. Its name is rmq-mcp- and the pod's, so pods of one name that
// follow one another share it.
type Lease struct {
	space  *Namespace
	name   string
	pod    string // namespace/name
	holder string
	unsure time.Duration // after which a lease without renewal is over
}

// Leases are those of pods for a holder, taken or not.
func (a *API) Leases(h Held) (list []*Lease) {
	for _, pod := range h.Pods {
		space, name, _ := strings.Cut(pod, "/")
		list = append(list, &Lease{a.In(space), "rmq-mcp-" + name, pod, h.Holder, leaseFor})
	}
	return list
}

// String is the lease for people.
func (l *Lease) String() string { return "lease of pod " + l.pod }

// Take makes the lease, in place of one that nothing renews. Else the error is an [ErrHeld] that names
// the holder.
func (l *Lease) Take(ctx context.Context) error {
	for {
		_, err := l.space.create(ctx, leases, l.object())
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err := l.clear(ctx); err != nil {
			return err
		}
	}
}

// clear removes a lease that is over. The clock of its holder may be slow, so a lease that seems over
// is watched for as long as it lasts.
func (l *Lease) clear(ctx context.Context) error {
	began, first := time.Now(), time.Time{}
	for {
		found, held, err := l.look(ctx)
		if first.IsZero() {
			first = held.renewed
		}
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return failed(err, "read the %s", l)
		case !held.renewed.Equal(first), held.renewed.Add(leaseFor).After(time.Now()):
			return fmt.Errorf("pod %s: %w: %s; wait for its end", l.pod, ErrHeld, held.holder)
		case time.Since(began) >= l.unsure:
			return l.remove(ctx, found)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(lookEvery, l.unsure)):
		}
	}
}

// object is the lease as this holder has it now.
func (l *Lease) object() *coordinationv1.Lease {
	seconds, now := int32(leaseFor.Seconds()), metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: l.name, Labels: map[string]string{"app.kubernetes.io/managed-by": "rmq-mcp"}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &l.holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
}

// A holding is whose a lease is, and since when.
type holding struct {
	holder  string
	renewed time.Time
}

func (l *Lease) look(ctx context.Context) (*unstructured.Unstructured, holding, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	found, err := l.space.of(leases).Get(ctx, l.name, metav1.GetOptions{})
	if err != nil {
		return nil, holding{}, err
	}
	var is coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &is); err != nil {
		return nil, holding{}, fmt.Errorf("read lease %s: %w", l.name, err)
	}
	var h holding
	if is.Spec.HolderIdentity != nil {
		h.holder = *is.Spec.HolderIdentity
	}
	if is.Spec.RenewTime != nil {
		h.renewed = is.Spec.RenewTime.Time
	}
	return found, h, nil
}

// remove removes the lease as it was found.
func (l *Lease) remove(ctx context.Context, found *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	id, version := found.GetUID(), found.GetResourceVersion()
	err := l.space.of(leases).Delete(ctx, l.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &id, ResourceVersion: &version}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another run was faster
		return nil
	}
	return failed(err, "remove the %s", l)
}

// Keep renews the lease until ctx ends, or the lease is gone or another holder's.
func (l *Lease) Keep(ctx context.Context) error {
	return every(ctx, renewEvery, func() error {
		found, held, err := l.look(ctx)
		switch {
		case apierrors.IsNotFound(err):
			return err
		case err != nil: // the API server is away, for all runs
			return nil
		case held.holder != l.holder:
			return fmt.Errorf("pod %s: %w: %s", l.pod, ErrHeld, held.holder)
		}
		l.space.patch(ctx, leases, l.name, map[string]any{
			"metadata": map[string]any{"resourceVersion": found.GetResourceVersion()},
			"spec":     map[string]any{"renewTime": metav1.NowMicro()},
		})
		return nil
	})
}

// Free removes the lease if it is this holder's.
func (l *Lease) Free(ctx context.Context) error {
	found, held, err := l.look(ctx)
	if apierrors.IsNotFound(err) || err == nil && held.holder != l.holder {
		return nil
	}
	if err != nil {
		return failed(err, "read the %s", l)
	}
	return l.remove(ctx, found)
}
