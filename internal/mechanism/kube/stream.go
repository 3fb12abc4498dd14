package kube

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// Follow copies the lines of the broker's standard output and error until the pod has ended.
// A stream that breaks is continued after its last line: lines carry the time of their machine.
func (p *Pod) Follow(ctx context.Context, to io.Writer) error {
	var last string // time of the last line that was copied
	for {
		ended := false
		if s, err := p.State(ctx); err == nil {
			ended = s.Ended || s.Removed
		}
		err := p.copyLog(ctx, to, &last)
		if ended && err == nil || apierrors.IsNotFound(err) || ctx.Err() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// copyLog copies what came after a line, until the stream ends.
func (p *Pod) copyLog(ctx context.Context, to io.Writer, last *string) error {
	ask := p.ask("GET", "log").Param("follow", "true").Param("timestamps", "true")
	if at, err := time.Parse(time.RFC3339Nano, *last); err == nil {
		ask = ask.Param("sinceTime", at.UTC().Format(time.RFC3339))
	}
	stream, err := ask.Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		at, text, ok := strings.Cut(line, " ")
		if ok && (*last == "" || later(at, *last)) {
			*last = at
			if _, err := io.WriteString(to, text); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// later compares two times as a kubelet writes them. They may have any number of digits.
func later(a, b string) bool {
	x, errX := time.Parse(time.RFC3339Nano, a)
	y, errY := time.Parse(time.RFC3339Nano, b)
	return errX != nil || errY != nil || x.After(y)
}

// Exec runs a command beside the broker, in its container, and returns its standard output.
// The error of a command that fails has its standard error.
func (p *Pod) Exec(ctx context.Context, command ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	ask := p.ask("POST", "exec").Param("stdout", "true").Param("stderr", "true")
	for _, word := range command {
		ask = ask.Param("command", word)
	}
	executor, err := p.executor(ask.URL())
	if err != nil {
		return nil, fmt.Errorf("run a command in pod %s: %w", p.name, err)
	}
	var out, complaints bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &complaints})
	if status := (exec.CodeExitError{}); errors.As(err, &status) {
		return nil, fmt.Errorf("run %s in pod %s: status %d: %s", strings.Join(command, " "), p.name, status.Code, strings.TrimSpace(complaints.String()))
	}
	if err != nil {
		return nil, failed(err, "run %s in pod %s", strings.Join(command, " "), p.name)
	}
	return out.Bytes(), nil
}

// executor speaks WebSocket, and SPDY with what is older than Kubernetes 1.30, as kubectl
// does.
func (p *Pod) executor(at *url.URL) (remotecommand.Executor, error) {
	config := p.space.api.config
	newer, err := remotecommand.NewWebSocketExecutor(config, "GET", at.String())
	if err != nil {
		return nil, err
	}
	older, err := remotecommand.NewSPDYExecutor(config, "POST", at)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// ask begins a request for a stream of the broker's container.
func (p *Pod) ask(verb, stream string) *rest.Request {
	return p.space.api.streams.Verb(verb).Namespace(p.space.Name()).Resource("pods").Name(p.name).SubResource(stream).Param("container", container)
}
