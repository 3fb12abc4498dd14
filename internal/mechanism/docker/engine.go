// Package docker is what rmq-mcp asks of a docker engine: images, containers
// that carry the label of one run, and the network namespace of a container.
// No other package speaks to an engine.
package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// Labels of every container that rmq-mcp makes. Containers without LabelRun
// are somebody else's.
const (
	LabelRun     = "org.robustmq.rmq-mcp.run"     // the run that it belongs to
	LabelNode    = "org.robustmq.rmq-mcp.node"    // node-1, or the node whose network it holds
	LabelImage   = "org.robustmq.rmq-mcp.image"   // the image that was asked for
	LabelVersion = "org.robustmq.rmq-mcp.version" // the broker's, as far as it is known before it runs
)

// Layer begins the name of what stands for the containers of a run.
const Layer = "containers"

// A Made finds the containers of a run after the death of its keeper.
type Made struct {
	Engine string `json:"engine"` // its address
	Run    string `json:"run"`
}

// callBound is how long an engine may take for what is no download.
const callBound = time.Minute

// An Engine is a docker engine on this machine.
type Engine struct {
	api  *client.Client
	host string
}

// Open connects to the engine at host, unix:///path; "" is DOCKER_HOST, or
// docker's default. The engine must be on this machine, for its containers
// join a network of ours. An error wraps [errors.ErrUnsupported] and says what
// to do about it.
func Open(ctx context.Context, host string) (*Engine, error) {
	host = cmp.Or(host, os.Getenv(client.EnvOverrideHost), client.DefaultDockerHost)
	if !strings.HasPrefix(host, "unix://") {
		return nil, unsupported("the docker engine at %s is reached over a network, and its containers cannot join one of this machine; set DOCKER_HOST to unix:///path of a local engine", host)
	}
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, fmt.Errorf("use the docker engine at %s: %w", host, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	if _, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		api.Close()
		if dial := (*net.OpError)(nil); errors.As(err, &dial) {
			err = dial.Err // the client's words around it name the address three times
		}
		return nil, unsupported("no docker engine answers at %s: %v; start dockerd, or set DOCKER_HOST to where it listens", host, err)
	}
	return &Engine{api: api, host: host}, nil
}

// Host is the address of the engine, for [Open].
func (e *Engine) Host() string { return e.host }

// Close lets go of the connections. Containers are not touched.
func (e *Engine) Close() error { return e.api.Close() }

// Version is the engine's own.
func (e *Engine) Version(ctx context.Context) (string, error) {
	v, err := e.api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", fmt.Errorf("ask the docker engine for its version: %w", err)
	}
	return v.Version, nil
}
