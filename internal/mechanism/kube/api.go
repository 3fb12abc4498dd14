// Package kube is what rmq-mcp asks of a Kubernetes cluster: a namespace for each run, and
// in it services, secrets, volumes and pods. No other package speaks to an API server.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Labels of all that rmq-mcp makes.
const (
	LabelRun  = "rmq-mcp/run"  // the run that it belongs to
	LabelNode = "rmq-mcp/node" // node-1
)

// callBound is how long an API server may take for one answer.
const callBound = 30 * time.Second

// A Target names a cluster and a user of it as kubectl does. Without files they are those of
// the service account of this program's own pod.
type Target struct {
	Files   []string `json:"files,omitempty"` // of the configuration; the first that sets a value wins
	Context string   `json:"context,omitempty"`
	Server  string   `json:"server,omitempty"` // address; "": any
}

// An API is the API server of a cluster, as one user of it.
type API struct {
	target  Target
	config  *rest.Config
	objects dynamic.Interface
	streams *rest.RESTClient // logs, and commands in pods
}

// Open connects to a cluster. The zero Target is kubectl's: the files of KUBECONFIG, or the one
// in the home directory, and their current context. The error wraps [errors.ErrUnsupported] if
// no cluster answers, and it is refused if a context is of another server by now.
func Open(ctx context.Context, at Target) (*API, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if len(at.Files) > 0 {
		rules.ExplicitPath, rules.Precedence = "", at.Files
	}
	load := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: at.Context})
	config, err := load.ClientConfig()
	if err != nil {
		return nil, unsupported("no Kubernetes cluster is configured: %v; set KUBECONFIG to the file that kubectl uses", err)
	}
	raw, err := load.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("read the configuration of kubectl: %w", err)
	}
	if at.Context == "" {
		at.Context = raw.CurrentContext
	}
	if len(raw.Clusters) > 0 {
		at.Files = nil
		for _, file := range rules.GetLoadingPrecedence() {
			file, err := filepath.Abs(file) // it is opened from another directory later
			if err != nil {
				return nil, fmt.Errorf("find the configuration of kubectl: %w", err)
			}
			at.Files = append(at.Files, file)
		}
	}
	if at.Server != "" && at.Server != config.Host {
		return nil, fmt.Errorf("context %s of %s is of the server %s by now, and was of %s; give KUBECONFIG as it was then", at.Context, strings.Join(at.Files, ", "), config.Host, at.Server)
	}
	at.Server = config.Host
	a, err := connect(at, config)
	if err != nil {
		return nil, fmt.Errorf("use the Kubernetes cluster at %s: %w", config.Host, err)
	}
	if _, err := a.Version(ctx); err != nil {
		return nil, unsupported("no API server answers at %s: %v; see kubectl cluster-info", config.Host, err)
	}
	return a, nil
}

func connect(at Target, config *rest.Config) (*API, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100 // one run has few objects; the server has limits of its own
	config.WarningHandler = rest.NoWarnings{}
	config.UserAgent = "rmq-mcp"
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	core := rest.CopyConfig(config)
	core.APIPath, core.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	core.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	streams, err := rest.RESTClientFor(core)
	if err != nil {
		return nil, err
	}
	return &API{target: at, config: core, objects: objects, streams: streams}, nil
}

// Target makes [Open] connect to the same cluster again.
func (a *API) Target() Target { return a.target }

// String names the cluster in a message: its context, or its address.
func (a *API) String() string {
	if a.target.Context != "" {
		return a.target.Context
	}
	return a.config.Host
}

// Version is that of the API server, such as v1.35.4.
func (a *API) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	var version struct{ GitVersion string }
	body, err := a.streams.Get().AbsPath("/version").DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(body, &version)
	}
	return version.GitVersion, err
}

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	services   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	claims     = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	accounts   = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	jobs       = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	roles      = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	bindings   = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
)

// failed says what could not be done. A missing right comes with the page that lists them.
func failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	hint := ""
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ") { // quotas and pod security refuse too
		hint = "; docs/kubernetes.md lists the rights that a run needs"
	}
	return fmt.Errorf(format+": %w%s", append(args, err, hint)...)
}

// unsupported is an error of what this machine cannot do.
func unsupported(format string, args ...any) error {
	return unsupportedError{fmt.Errorf(format, args...)}
}

// An unsupportedError is an [errors.ErrUnsupported] that says no more than its cause.
type unsupportedError struct{ error }

func (unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }
func (e unsupportedError) Unwrap() error      { return e.error }
