package keeper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// ErrGone says that an experiment's keeper is gone: the experiment is over, or
// the keeper was killed. The keeper's record is in the run directory.
var ErrGone = errors.New("its keeper is gone")

// A Client is a connection to a keeper. An experiment driven by hand lasts as
// long as somebody has one.
type Client struct {
	info  Info
	http  *http.Client
	gone  chan struct{}
	leave context.CancelFunc
}

// Connect connects to a live experiment; "" means the only one there is.
func Connect(stateDir, id string) (*Client, error) {
	live, err := List(stateDir)
	if err != nil {
		return nil, err
	}
	info, err := choose(live, id)
	if err != nil {
		return nil, err
	}
	c := newClient(info)
	if err := c.attend(); err != nil {
		return nil, err
	}
	return c, nil
}

func newClient(info Info) *Client {
	return &Client{info: info, gone: make(chan struct{}), http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, info.Socket) },
	}}}
}

func choose(live []Info, id string) (Info, error) {
	var names []string
	for _, info := range live {
		if info.ID == id || id == "" && len(live) == 1 {
			return info, nil
		}
		names = append(names, info.ID)
	}
	switch {
	case len(live) == 0 && id == "":
		return Info{}, errors.New("no experiment is live; start one with cluster_start or run_scenario, or with `rmq-mcp run SCENARIO`")
	case id == "":
		return Info{}, fmt.Errorf("%d experiments are live, say which one: %s", len(live), strings.Join(names, ", "))
	case len(live) == 0:
		return Info{}, fmt.Errorf("experiment %s is not live, nor is any other; what it recorded is in its run directory: call get_run, or `rmq-mcp list runs`", id)
	}
	return Info{}, fmt.Errorf("experiment %s is not live; live are: %s", id, strings.Join(names, ", "))
}

func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// attend opens the connection that says that somebody is there.
func (c *Client) attend() error {
	ctx, leave := context.WithCancel(context.Background())
	resp, err := c.send(ctx, "GET", "/presence", nil)
	if err != nil {
		leave()
		return err
	}
	c.leave = leave
	go func() {
		defer close(c.gone)
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
	}()
	return nil
}

// Close ends the connection. If nobody else is there, an experiment driven by
// hand heals its faults at once and stops after its grace.
func (c *Client) Close() {
	c.leave()
	<-c.gone
	c.http.CloseIdleConnections()
}

// Info says which experiment this is.
func (c *Client) Info() Info { return c.info }

// Gone is closed when the keeper is gone, or the client is closed.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Status answers what is known now.
func (c *Client) Status(ctx context.Context) (Status, error) { return c.Wait(ctx, 0) }

// Wait answers when the experiment is over, or is ready to be driven by hand,
// and at the latest after d.
func (c *Client) Wait(ctx context.Context, d time.Duration) (Status, error) {
	return call[Status](ctx, c, "GET", fmt.Sprintf("/status?wait_s=%g", d.Seconds()), nil)
}

// Watch calls see for everything that happens from now on. It returns nil when
// the experiment is over, and an ErrGone when its keeper was killed.
func (c *Client) Watch(ctx context.Context, see func(Progress)) error {
	resp, err := c.send(ctx, "GET", "/progress", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(resp.Body); ; {
		var p Progress
		err := lines.Decode(&p)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return c.lost(ctx, err)
		}
		see(p)
	}
}

var _ Calls = (*Client)(nil)

// Inject injects one fault.
func (c *Client) Inject(ctx context.Context, ask Inject) (FaultStatus, error) {
	return call[FaultStatus](ctx, c, "POST", "/inject", ask)
}

// Heal heals one fault now.
func (c *Client) Heal(ctx context.Context, ask Heal) (FaultStatus, error) {
	return call[FaultStatus](ctx, c, "POST", "/heal", ask)
}

// RunClient starts a scenario's workload.
func (c *Client) RunClient(ctx context.Context, ask RunClient) (ClientStatus, error) {
	return call[ClientStatus](ctx, c, "POST", "/client", ask)
}

// Logs answers lines of the nodes' logs.
func (c *Client) Logs(ctx context.Context, ask Logs) (LogLines, error) {
	return call[LogLines](ctx, c, "POST", "/logs", ask)
}

// Metrics answers the nodes' metrics.
func (c *Client) Metrics(ctx context.Context, ask Metrics) (MetricsAnswer, error) {
	return call[MetricsAnswer](ctx, c, "POST", "/metrics", ask)
}

// Journal records what a caller was answered. The keeper does not do so by
// itself: only the one who asks knows what the agent gets to see.
func (c *Client) Journal(ctx context.Context, caller Caller, answer any) error {
	_, err := call[struct{}](ctx, c, "POST", "/journal", answered{caller, answer})
	return err
}

// Stop heals, ends and judges, and answers the last status.
func (c *Client) Stop(ctx context.Context, caller Caller) (Status, error) {
	return call[Status](ctx, c, "POST", "/stop", caller)
}

func call[Answer any](ctx context.Context, c *Client, method, path string, ask any) (answer Answer, err error) {
	resp, err := c.send(ctx, method, path, ask)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return answer, c.lost(ctx, err)
	}
	return answer, nil
}

// send answers a response that is not an error, for the caller to close.
func (c *Client) send(ctx context.Context, method, path string, ask any) (*http.Response, error) {
	var body io.Reader
	if ask != nil {
		text, err := json.Marshal(ask)
		if err != nil {
			return nil, fmt.Errorf("ask %s: %w", path, err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://keeper"+path, body)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var f failure
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		return nil, fmt.Errorf("ask %s: %s", path, resp.Status)
	}
	return nil, errors.New(f.Error)
}

// An answerError is the experiment's own, not the connection's.
type answerError struct{ error }

// lost explains an error of the connection.
func (c *Client) lost(ctx context.Context, err error) error {
	var own answerError
	switch {
	case errors.As(err, &own):
		return own.error
	case ctx.Err() != nil:
		return fmt.Errorf("experiment %s: %w", c.info.ID, ctx.Err())
	}
	return fmt.Errorf("experiment %s: %w; what it recorded is in %s", c.info.ID, ErrGone, c.info.Dir)
}
