// Package kubetest is the part of a Kubernetes cluster that rmq-mcp uses, for tests: an API
// server with objects in memory, and a kubelet with processes of this machine as its pods.
// Every service has an address of 127.0.0.0/8, and so does its pod.
package kubetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Missing is an image that no registry has.
const Missing = "missing:1"

// A Server is a cluster. Its fields are set before it is used.
type Server struct {
	Kubeconfig string                              // a file
	Refuse     func(verb, kind, name string) error // of the API; nil: nothing is refused
	Self       []string                            // argv of this program, in place of its path in a pod
	ChaosMesh  bool                                // its API is served; nothing acts on it
	t          testing.TB
	http       *httptest.Server
	mu         sync.Mutex
	version    int64
	objects    map[key]*unstructured.Unstructured
	watches    map[*watch]bool
	pods       map[string]*process // by UID
	kept       map[key]bool        // pods that are made again when they are gone
	calls      map[string]int      // of the API, by verb and kind
}

type key struct{ kind, space, name string }

type watch struct {
	of     key // no name: all
	events chan event
}

type event struct {
	Type   string         `json:"type"`
	Object map[string]any `json:"object"`
}

// New starts a cluster that ends with the test. Self is the argv that runs this program.
func New(t testing.TB, self ...string) *Server {
	t.Helper()
	s := &Server{t: t, Self: self, objects: map[key]*unstructured.Unstructured{}, watches: map[*watch]bool{}, pods: map[string]*process{}, kept: map[key]bool{}, calls: map[string]int{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": [{"name": "test", "cluster": {"server": %q}}],
		"users": [{"name": "test", "user": {"token": "x"}}],
		"contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}`, s.http.URL)
	if err := os.WriteFile(s.Kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Break()
		s.http.Close()
		for _, p := range s.processes() {
			p.kill()
		}
	})
	return s
}

// Forbidden is how a server refuses a call that the user has no right for.
func Forbidden(verb, kind, name string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, name, fmt.Errorf("the user \"test\" cannot %s resource %q in API group \"\"", verb, kind))
}

// Break ends every open stream and watch, as an API server that restarts does.
func (s *Server) Break() {
	s.http.CloseClientConnections()
}

// Names are those of the objects of a kind, such as pods or namespaces, in any namespace.
func (s *Server) Names(kind string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.objects {
		if k.kind == kind {
			names = append(names, k.name)
		}
	}
	return names
}

// Calls is how often the API was called for a verb and a kind: "get pods".
func (s *Server) Calls(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

// serve answers one call of the API.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/version" {
		answer(w, map[string]any{"gitVersion": "v1.35.4"})
		return
	}
	if s.ChaosMesh && r.URL.Path == "/apis/chaos-mesh.org/v1alpha1" {
		answer(w, map[string]any{"kind": "APIResourceList", "resources": []any{map[string]any{"name": "networkchaos"}}})
		return
	}
	group, path, ok := strings.Cut(r.URL.Path, "/namespaces")
	if !ok || !strings.HasPrefix(group, "/api") {
		refuse(w, apierrors.NewNotFound(schema.GroupResource{}, r.URL.Path))
		return
	}
	part := make([]string, 4) // namespace, kind, name, stream
	copy(part, strings.Split(strings.Trim(path, "/"), "/"))
	k := key{part[1], part[0], part[2]}
	if part[1] == "" {
		k = key{"namespaces", "", part[0]}
	}
	verb := verbOf(r, k)
	if part[3] != "" {
		verb = part[3]
	}
	s.mu.Lock()
	s.calls[verb+" "+k.kind]++
	s.mu.Unlock()
	if s.Refuse != nil {
		if err := s.Refuse(verb, k.kind, k.name); err != nil {
			refuse(w, err)
			return
		}
	}
	switch verb {
	case "log":
		s.log(w, r, k)
	case "exec":
		s.exec(w, r, k)
	case "attach":
		s.attach(w, r, k)
	case "watch":
		s.watch(w, r, k)
	default:
		found, err := s.do(r, verb, k)
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, found)
	}
}

func verbOf(r *http.Request, k key) string {
	switch {
	case r.URL.Query().Get("watch") == "true":
		return "watch"
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodDelete && k.name == "":
		return "deletecollection"
	case r.Method == http.MethodGet && k.name == "":
		return "list"
	}
	return strings.ToLower(r.Method)
}

// do carries out what reads and changes objects. It returns a copy, because the kubelet changes
// an object while it is written to a client.
func (s *Server) do(r *http.Request, verb string, k key) (map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := schema.GroupResource{Resource: k.kind}
	if verb == "create" {
		made := &unstructured.Unstructured{}
		if err := json.NewDecoder(r.Body).Decode(&made.Object); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		k.name = made.GetName()
		if _, ok := s.objects[k]; ok {
			return nil, apierrors.NewAlreadyExists(group, k.name)
		}
		if _, ok := s.objects[key{"namespaces", "", k.space}]; !ok && k.kind != "namespaces" {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, k.space)
		}
		account, _, _ := unstructured.NestedString(made.Object, "spec", "serviceAccountName")
		if _, ok := s.objects[key{"serviceaccounts", k.space, account}]; !ok && k.kind == "pods" {
			return nil, apierrors.NewForbidden(group, k.name, fmt.Errorf("error looking up service account %s/%s", k.space, account))
		}
		s.make(k, made)
		return made.DeepCopy().Object, nil
	}
	if verb == "deletecollection" {
		for other := range s.objects {
			if other.kind == k.kind && other.space == k.space {
				s.remove(other)
			}
		}
		return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}, nil
	}
	found, ok := s.objects[k]
	if !ok {
		return nil, apierrors.NewNotFound(group, k.name)
	}
	switch verb {
	case "update":
		var next map[string]any
		if err := json.NewDecoder(r.Body).Decode(&next); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		found.Object = next
		s.publish("MODIFIED", k, found)
	case "patch":
		var fields map[string]any
		if err := json.NewDecoder(r.Body).Decode(&fields); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		version, _, _ := unstructured.NestedString(fields, "metadata", "resourceVersion")
		if version != "" && version != found.GetResourceVersion() {
			return nil, apierrors.NewConflict(group, k.name, fmt.Errorf("its version is %s", found.GetResourceVersion()))
		}
		merge(found.Object, fields)
		s.publish("MODIFIED", k, found)
	case "delete":
		var how struct {
			GracePeriodSeconds *int64
			Preconditions      struct{ UID, ResourceVersion string }
		}
		json.NewDecoder(r.Body).Decode(&how)
		if uid := how.Preconditions.UID; uid != "" && uid != string(found.GetUID()) {
			return nil, apierrors.NewConflict(group, k.name, fmt.Errorf("its UID is %s", found.GetUID()))
		}
		if version := how.Preconditions.ResourceVersion; version != "" && version != found.GetResourceVersion() {
			return nil, apierrors.NewConflict(group, k.name, fmt.Errorf("its version is %s", found.GetResourceVersion()))
		}
		if k.kind == "pods" && how.GracePeriodSeconds == nil {
			go s.Evict(k.space, k.name)
		} else if len(found.GetFinalizers()) > 0 {
			now := metav1.Now()
			found.SetDeletionTimestamp(&now)
		} else {
			s.remove(k)
		}
	}
	return found.DeepCopy().Object, nil
}

// Make makes an object, as a controller does.
func (s *Server) Make(kind, space, name string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := &unstructured.Unstructured{Object: fields}
	made.SetName(name)
	made.SetAPIVersion("v1")
	made.SetKind(kind)
	s.make(key{kind, space, name}, made)
}

// Object returns a copy of an object.
func (s *Server) Object(kind, space, name string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key{kind, space, name}].DeepCopy().Object
}

// Change changes fields of an object.
func (s *Server) Change(kind, space, name string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{kind, space, name}
	merge(s.objects[k].Object, fields)
	s.publish("MODIFIED", k, s.objects[k])
}

// make completes an object as an API server does, and has the kubelet run a pod.
func (s *Server) make(k key, made *unstructured.Unstructured) {
	s.version++
	made.SetUID(uid(s.version))
	made.SetNamespace(k.space)
	s.objects[k] = made
	switch k.kind {
	case "services":
		unstructured.SetNestedField(made.Object, fmt.Sprintf("127.18.%d.%d", os.Getpid()%250+1, s.version%250+1), "spec", "clusterIP")
	case "pods":
		s.begin(k, made)
	case "jobs":
		s.work(k, made)
	}
	s.publish("ADDED", k, made)
}

// remove removes an object, and a namespace with all that is in it.
func (s *Server) remove(k key) {
	found := s.objects[k]
	delete(s.objects, k)
	if p := s.pods[string(found.GetUID())]; p != nil {
		p.kill()
	}
	s.publish("DELETED", k, found)
	if _, ok := s.objects[key{"namespaces", "", k.space}]; ok && s.kept[k] {
		time.AfterFunc(50*time.Millisecond, func() { s.again(k, found) })
	}
	for other := range s.objects {
		if k.kind == "namespaces" && other.space == k.name {
			s.remove(other)
		}
	}
}

// Keep makes a pod again whenever it is gone, as the controller of a StatefulSet does.
func (s *Server) Keep(space, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[key{"pods", space, name}] = true
}

// again makes a pod of the same name and spec.
func (s *Server) again(k key, gone *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[key{"namespaces", "", k.space}]; !ok {
		return
	}
	next := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": gone.Object["spec"]}}
	next.SetName(k.name)
	next.SetLabels(gone.GetLabels())
	s.make(k, next)
}

// publish tells those who watch. The caller holds the lock.
func (s *Server) publish(what string, k key, of *unstructured.Unstructured) {
	s.version++
	of.SetResourceVersion(fmt.Sprint(s.version))
	for w := range s.watches {
		if w.of.kind == k.kind && w.of.space == k.space && (w.of.name == "" || w.of.name == k.name) {
			w.events <- event{what, of.DeepCopy().Object}
		}
	}
}

// watch streams what becomes of objects.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, k key) {
	k.name, _ = strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	own := &watch{k, make(chan event, 1000)}
	s.mu.Lock()
	s.watches[own] = true
	if since := r.URL.Query().Get("resourceVersion"); s.objects[k] != nil && s.objects[k].GetResourceVersion() != since {
		own.events <- event{"MODIFIED", s.objects[k].DeepCopy().Object}
	} else if s.objects[k] == nil {
		own.events <- event{"ERROR", map[string]any{"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired"}}
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, own)
	}()
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		select {
		case e := <-own.events:
			if json.NewEncoder(w).Encode(e) != nil {
				return
			}
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		case <-time.After(time.Minute): // a server ends watches now and then
			return
		}
	}
}

func answer(w http.ResponseWriter, object map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(object)
}

// refuse answers an error as a Status. An error without one is an internal error.
func refuse(w http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).Status()
	if known, ok := err.(apierrors.APIStatus); ok {
		status = known.Status()
	}
	status.Kind, status.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	json.NewEncoder(w).Encode(status)
}

// merge is RFC 7396.
func merge(into, fields map[string]any) {
	for name, value := range fields {
		below, deep := value.(map[string]any)
		at, have := into[name].(map[string]any)
		switch {
		case value == nil:
			delete(into, name)
		case deep && have:
			merge(at, below)
		default:
			into[name] = value
		}
	}
}
