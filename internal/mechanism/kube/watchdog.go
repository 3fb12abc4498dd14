package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watchdog is the name of a watchdog's objects, and of its lease.
const watchdog = "watchdog"

// A lease that is not renewed for leaseFor is over. It is renewed and looked at more often.
const (
	leaseFor   = 30 * time.Second
	renewEvery = 8 * time.Second
	lookEvery  = 4 * time.Second
)

// Guard has a watchdog remove the namespace once nothing renews its lease any more, and renews
// it until ctx ends. Self is the image of this program, holder the name of who renews. Lost is
// told once, if the lease is gone although ctx has not ended.
func (n *Namespace) Guard(ctx context.Context, self, holder string, lost func(error)) error {
	meta := n.meta(watchdog, "")
	seconds, now := int32(leaseFor.Seconds()), metav1.NowMicro()
	never := int32(1000) // a watchdog that fails is started again, however often
	for _, object := range []struct {
		kind schema.GroupVersionResource
		is   metav1.Object
	}{
		{leases, &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now}}},
		{accounts, &corev1.ServiceAccount{ObjectMeta: meta}},
		// A role of a namespace may hold rights on that very namespace.
		{roles, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "delete"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"deletecollection"}},
			{APIGroups: []string{leases.Group}, Resources: []string{"leases"}, Verbs: []string{"get"}},
		}}},
		{bindings, &rbacv1.RoleBinding{ObjectMeta: meta,
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: watchdog, Namespace: n.Name()}},
			RoleRef:  rbacv1.RoleRef{APIGroup: roles.Group, Kind: "Role", Name: watchdog},
		}},
		{jobs, &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{BackoffLimit: &never, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyOnFailure, ServiceAccountName: watchdog,
				Containers: []corev1.Container{{Name: watchdog, Image: self, Command: []string{SelfPath, "inside", "watch", n.run}}},
			},
		}}}},
	} {
		if _, err := n.create(ctx, object.kind, object.is); err != nil {
			return err
		}
	}
	go func() {
		if err := n.renew(ctx); err != nil && ctx.Err() == nil {
			lost(err)
		}
	}()
	return nil
}

// renew renews the lease until ctx ends, or the lease is gone. It goes through times without an
// API server, in which the watchdog sees nothing either.
func (n *Namespace) renew(ctx context.Context) error {
	return every(ctx, renewEvery, func() error {
		err := n.patch(ctx, leases, watchdog, map[string]any{"spec": map[string]any{"renewTime": metav1.NowMicro()}})
		if apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// every does something again and again, until ctx ends or it fails.
func every(ctx context.Context, period time.Duration, do func() error) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := do(); err != nil {
			return err
		}
	}
}

// Watch is the watchdog: it removes the namespace of a run once its lease was the same in every
// look for as long as it lasts. A failed look begins this time again: without an API server
// the holder renews nothing either. It returns when the namespace is gone.
func (n *Namespace) Watch(ctx context.Context) error {
	var last string
	var since time.Time
	for {
		found, err := n.of(leases).Get(ctx, watchdog, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err): // the namespace is on its way out
			return nil
		case err != nil:
			last = ""
		default:
			renewed, _, _ := unstructured.NestedString(found.Object, "spec", "renewTime")
			if renewed != last {
				last, since = renewed, time.Now()
			} else if time.Since(since) >= leaseFor {
				if _, err := n.Remove(ctx); err != nil {
					return fmt.Errorf("the lease of %s is over: %w", n.Name(), err)
				}
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(lookEvery):
		}
	}
}
