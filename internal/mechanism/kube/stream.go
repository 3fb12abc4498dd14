package kube

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// Follow copies the lines of the broker's standard output and error until it has ended. A
// stream that breaks is continued after its last line: lines carry the time of their machine.
func (p *Pod) Follow(ctx context.Context, to io.Writer) error {
	var read reading
	for {
		s, err := p.State(ctx)
		if err == nil && s.Removed {
			return nil
		}
		over := err == nil && s.Ended
		err = p.copyLog(ctx, to, &read, over)
		switch {
		case ctx.Err() != nil || over && err == nil:
			return nil
		case apierrors.IsForbidden(err):
			return failed(err, "follow the log of pod %s", p.name)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// A reading is how far a log was copied: the time of the last line, and how many lines of that
// time were.
type reading struct {
	last  time.Time
	lines int
}

// copyLog copies what comes after a reading, until the stream ends. The last
// line of a broker that has ended may be without an end. A line without a time is the kubelet's.
func (p *Pod) copyLog(ctx context.Context, to io.Writer, read *reading, over bool) error {
	ask := p.ask("GET", "log", p.container).Param("follow", "true").Param("timestamps", "true")
	if !read.last.IsZero() {
		ask = ask.Param("sinceTime", read.last.UTC().Format(time.RFC3339))
	}
	stream, err := ask.Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	known, resuming := *read, !read.last.IsZero()
	lines := bufio.NewReader(stream)
	for {
		line, failed := lines.ReadString('\n')
		stamp, text, _ := strings.Cut(line, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		whole := strings.HasSuffix(line, "\n") || over && errors.Is(failed, io.EOF)
		if err == nil && whole {
			if resuming && at.Equal(known.last) && known.lines > 0 {
				known.lines--
			} else if !resuming || !at.Before(known.last) {
				resuming = false
				if _, err := io.WriteString(to, strings.TrimSuffix(text, "\n")+"\n"); err != nil {
					return err
				}
				if !at.Equal(read.last) {
					*read = reading{last: at}
				}
				read.lines++
			}
		}
		if errors.Is(failed, io.EOF) {
			return nil
		}
		if failed != nil {
			return failed
		}
	}
}

// Exec runs a command beside the broker, in its container, and returns its standard output.
// The error of a command that fails has its standard error.
func (p *Pod) Exec(ctx context.Context, command ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	var out, complaints bytes.Buffer
	err := p.run(ctx, p.container, command, remotecommand.StreamOptions{Stdout: &out, Stderr: &complaints})
	if status := (exec.CodeExitError{}); errors.As(err, &status) {
		return nil, fmt.Errorf("run %s in pod %s: status %d: %s", strings.Join(command, " "), p.name, status.Code, strings.TrimSpace(complaints.String()))
	}
	if err != nil {
		return nil, failed(err, "run %s in pod %s", strings.Join(command, " "), p.name)
	}
	return out.Bytes(), nil
}

// run runs a command in a container, with streams.
func (p *Pod) run(ctx context.Context, in string, command []string, streams remotecommand.StreamOptions) error {
	ask := p.ask("POST", "exec", in)
	for _, word := range command {
		ask = ask.Param("command", word)
	}
	return p.join(ctx, ask, streams)
}

// Streams are those of the container's own process, which a pod has once. It returns when the process
// has ended, or the connection.
func (p *Pod) Streams(ctx context.Context, in io.Reader, out, complaints io.Writer) error {
	err := p.join(ctx, p.ask("POST", "attach", p.container), remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: complaints})
	return failed(err, "read what pod %s writes", p.name)
}

// join connects streams.
func (p *Pod) join(ctx context.Context, ask *rest.Request, streams remotecommand.StreamOptions) error {
	ask = ask.Param("stdout", "true").Param("stderr", "true").Param("stdin", strconv.FormatBool(streams.Stdin != nil))
	executor, err := p.executor(ask.URL())
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, streams)
}

// Attach runs a command of this program in the container that may change the pod's network. It ends
// when the returned streams are closed, or by itself.
func (p *Pod) Attach(command ...string) io.ReadWriteCloser {
	ctx, cancel := context.WithCancel(context.Background())
	input, in := io.Pipe()
	out, output := io.Pipe()
	go func() {
		var complaints bytes.Buffer
		err := p.run(ctx, beside, append([]string{SelfPath}, command...), remotecommand.StreamOptions{Stdin: input, Stdout: output, Stderr: &complaints})
		if err != nil {
			err = failed(err, "run %s in pod %s: %s", strings.Join(command, " "), p.name, strings.TrimSpace(complaints.String()))
		}
		output.CloseWithError(cmp.Or(err, io.EOF))
		input.Close()
	}()
	return &attached{out, in, cancel}
}

// An attached is a command with its streams.
type attached struct {
	io.Reader
	io.WriteCloser
	cancel context.CancelFunc
}

// Close ends its input, and the command with it.
func (a *attached) Close() error {
	err := a.WriteCloser.Close()
	a.cancel()
	return err
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

// ask begins a request for a stream of a container.
func (p *Pod) ask(verb, stream, container string) *rest.Request {
	return p.space.api.streams.Verb(verb).Namespace(p.space.Name()).Resource("pods").Name(p.name).SubResource(stream).Param("container", container)
}
