package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// A Stage is what one task is asked on: a state directory, the operator's envelope, and
// the broker of the task.
type Stage struct {
	State     string // the server's directory
	Envelope  string // file
	Published string // directory where reports may go
	endpoint  string
	binary    string
	close     []func() error
}

// newStage makes the stage of a task below a directory.
func newStage(ctx context.Context, dir string, t Task) (s *Stage, err error) {
	s = &Stage{State: filepath.Join(dir, "state"), Envelope: filepath.Join(dir, "envelope.yaml"), Published: filepath.Join(dir, "published")}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("prepare task %s: %w", t.Name, err), s.Close())
		}
	}()
	if err := os.MkdirAll(s.State, 0o755); err != nil {
		return s, err
	}
	limits := fmt.Sprintf("push: [%q]\n%s", s.Published, t.Envelope)
	if t.Broker.Listens {
		if s.endpoint, err = s.broker(ctx, dir); err != nil {
			return s, err
		}
		if t.Broker.Plant != "" {
			if s.endpoint, err = s.plant(t.Broker.Plant); err != nil {
				return s, err
			}
		}
		limits += fmt.Sprintf("allowed_endpoints: [%q]\nallowed_flavors: [reference, mosquitto, external]\n", s.endpoint)
	}
	if len(t.Broker.Says) > 0 {
		if s.binary, err = chatty(dir, t.Broker.Says); err != nil {
			return s, err
		}
		limits += fmt.Sprintf("allowed_binaries: [%q]\n", s.binary)
	}
	return s, os.WriteFile(s.Envelope, []byte(limits), 0o644)
}

// fill puts the stage's addresses into a text.
func (s *Stage) fill(text string) string {
	return strings.NewReplacer("{endpoint}", s.endpoint, "{binary}", s.binary).Replace(text)
}

// Close ends the broker and the proxy.
func (s *Stage) Close() error {
	var all []error
	for i := len(s.close) - 1; i >= 0; i-- {
		all = append(all, s.close[i]())
	}
	return errors.Join(all...)
}

func mosquitto() (string, error) {
	for _, name := range []string{"mosquitto", "/usr/sbin/mosquitto"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("mosquitto is not installed; apt-get install mosquitto")
}

// broker starts a mosquitto that keeps everything, and returns its address.
func (s *Stage) broker(ctx context.Context, dir string) (string, error) {
	path, err := mosquitto()
	if err != nil {
		return "", err
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	config := filepath.Join(dir, "mosquitto.conf")
	text := fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 0\n", port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command(path, "-c", config)
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start mosquitto: %w", err)
	}
	s.close = append(s.close, func() error {
		cmd.Process.Kill()
		cmd.Wait()
		return nil
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	return address, waitFor(ctx, address)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// waitFor waits until something listens at an address.
func waitFor(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nothing listens at %s: %w", address, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// plant puts a proxy with a defect before the broker, and returns its address.
func (s *Stage) plant(name string) (string, error) {
	p, err := tap.FindPlant(name)
	if err != nil {
		return "", err
	}
	p.Endless = true
	liar := tap.NewLiar(p, tap.Options{})
	s.close = append(s.close, liar.Close)
	return liar.Listen("127.0.0.1:0", s.endpoint)
}

// chatty makes a program that is mosquitto, and prints lines of its own first.
func chatty(dir string, says []string) (string, error) {
	path, err := mosquitto()
	if err != nil {
		return "", err
	}
	text := "#!/bin/sh\n"
	for _, line := range says {
		text += fmt.Sprintf("echo '%s' >&2\n", strings.ReplaceAll(line, "'", `'\''`))
	}
	program := filepath.Join(dir, "mosquitto")
	return program, os.WriteFile(program, []byte(text+fmt.Sprintf("exec %s \"$@\"\n", path)), 0o755)
}
