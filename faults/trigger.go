package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Triggers of crash_at.
const (
	triggerLog    = "log"
	triggerMetric = "metric"
	triggerRole   = "role"
	triggerFile   = "file"
)

func triggers() []string { return []string{triggerLog, triggerMetric, triggerRole, triggerFile} }

// How often triggers look.
const (
	logEvery   = time.Millisecond
	stateEvery = 10 * time.Millisecond
)

// check says what is wrong with the pattern.
func (f CrashAt) check() error {
	var err error
	switch f.Trigger {
	case triggerLog:
		_, err = regexp.Compile(f.Pattern)
	case triggerMetric:
		_, err = readThreshold(f.Pattern)
	case triggerRole:
		if f.Pattern != "leader" && f.Pattern != "follower" {
			err = errors.New("valid: leader, follower")
		}
	case triggerFile:
		_, err = f.trap()
	}
	if err == nil && f.Pattern == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return fmt.Errorf("parameter pattern: got %q for trigger %s: %w", f.Pattern, f.Trigger, err)
	}
	return nil
}

// waiter answers what returns when the trigger came, or an error when the
// context ends.
func (f CrashAt) waiter(in *Injection, target Target) (func(context.Context) error, error) {
	n, site := target.Nodes[0], target.Site
	switch f.Trigger {
	case triggerLog:
		logged, ok := n.(interface{ LogPath() string })
		if !ok || logged.LogPath() == "" {
			return nil, fmt.Errorf("%w: the log of %s is not ours to read", ErrUnsupported, n.Name())
		}
		return f.logLine(logged.LogPath())
	case triggerMetric:
		measured, ok := n.(interface {
			Metrics(context.Context) (map[string]float64, error)
		})
		if !ok {
			return nil, fmt.Errorf("%w: %s has no metrics", ErrUnsupported, n.Name())
		}
		limit, err := readThreshold(f.Pattern)
		if err != nil {
			return nil, err
		}
		return f.becomes(func(ctx context.Context) bool {
			all, err := measured.Metrics(ctx)
			value, known := all[limit.metric]
			return err == nil && known && limit.reached(value)
		}), nil
	case triggerRole:
		if site.Roles == nil {
			return nil, fmt.Errorf("%w: the roles of %s are not known", ErrUnsupported, n.Name())
		}
		return f.becomes(func(ctx context.Context) bool {
			return slices.Contains(site.Roles(ctx)[n.Name()], f.Pattern)
		}), nil
	}
	return f.trapped(in, target)
}

// becomes returns when a condition has become true for the n-th time; one that
// holds at the first look counts.
func (f CrashAt) becomes(holds func(context.Context) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		was, times := false, 0
		for {
			is := holds(ctx)
			if is && !was {
				times++
			}
			if was = is; times >= f.Nth {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(stateEvery):
			}
		}
	}
}

// logLine returns at the n-th line that is written from now on and matches.
func (f CrashAt) logLine(path string) (func(context.Context) error, error) {
	wanted, err := regexp.Compile(f.Pattern)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		log, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		defer log.Close()
		if _, err := log.Seek(0, io.SeekEnd); err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		var open []byte // a line that is not whole yet
		for times := 0; ; {
			more, err := io.ReadAll(log)
			if err != nil {
				return fmt.Errorf("read the log: %w", err)
			}
			lines := bytes.Split(append(open, more...), []byte("\n"))
			open = lines[len(lines)-1]
			for _, line := range lines[:len(lines)-1] {
				if wanted.Match(line) {
					times++
				}
			}
			if times >= f.Nth {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(logEvery):
			}
		}
	}, nil
}

// A threshold is a value that a metric may reach.
type threshold struct {
	metric, sign string
	value        float64
}

// readThreshold reads `name >= 10`.
func readThreshold(text string) (threshold, error) {
	match := regexp.MustCompile(`^\s*(\S.*?)\s*(>=|<=|>|<)\s*(\S+)\s*$`).FindStringSubmatch(text)
	if match == nil {
		return threshold{}, errors.New("valid: a name, one of > >= < <=, and a number, as in nats_connections >= 10")
	}
	value, err := strconv.ParseFloat(match[3], 64)
	if err != nil {
		return threshold{}, fmt.Errorf("%q is no number", match[3])
	}
	return threshold{metric: match[1], sign: match[2], value: value}, nil
}

func (t threshold) reached(v float64) bool {
	if v == t.value {
		return strings.HasSuffix(t.sign, "=")
	}
	return (v > t.value) == (t.sign[0] == '>')
}
