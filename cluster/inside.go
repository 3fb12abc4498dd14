package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	psutil "github.com/shirou/gopsutil/v3/process"
)

// Inside is what a command in a node's pod sees of the broker.
type Inside struct {
	State   string             `json:"state"` // running or frozen
	PID     int32              `json:"pid"`   // in the pod
	Metrics map[string]float64 `json:"metrics"`
}

// InsideMain is a command in the pod of a node: copy FILE puts this program there, look
// prints an [Inside], signal NUMBER sends the broker a signal.
func InsideMain(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == "copy" {
		return copySelf(args[1])
	}
	broker, err := firstProcess(ctx)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "look":
		seen := Inside{PID: broker.Pid, Metrics: map[string]float64{}}
		if seen.State, err = osState(int(broker.Pid)); err != nil {
			return err
		}
		measure(ctx, broker, seen.Metrics)
		return json.NewEncoder(out).Encode(seen)
	case len(args) == 2 && args[0] == "signal":
		number, err := strconv.Atoi(args[1])
		if err != nil {
			return fmt.Errorf("signal %q is no number", args[1])
		}
		return broker.SendSignalWithContext(ctx, syscall.Signal(number))
	}
	return errors.New("inside: this command is rmq-mcp's own, for the pods of a run")
}

// firstProcess is the broker in the process namespace of its pod: the oldest process without a
// parent there, but for process 1, which is the pod's own. The commands of exec are younger.
func firstProcess(ctx context.Context) (first *psutil.Process, err error) {
	all, err := psutil.ProcessesWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the processes of the pod: %w", err)
	}
	var born int64
	for _, p := range all {
		parent, err := p.PpidWithContext(ctx)
		at, err2 := p.CreateTimeWithContext(ctx)
		if err != nil || err2 != nil || parent != 0 || p.Pid == 1 || int(p.Pid) == os.Getpid() {
			continue
		}
		if first == nil || at < born {
			first, born = p, at
		}
	}
	if first == nil {
		return nil, errors.New("the pod has no process of a broker")
	}
	return first, nil
}

// copySelf writes this program to a file, to be run there.
func copySelf(to string) error {
	name, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	from, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
