package clients_test

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// elsewhere is a place whose processes are taken for those of another machine. Sight of them is lost for
// a reason, "" for none.
type elsewhere struct{ lost string }

func (e elsewhere) Start(cmd *exec.Cmd, in, out *os.File) (clients.Process, error) {
	p, err := clients.Here(nil).Start(cmd, in, out)
	return away{p, e.lost}, err
}

type away struct {
	clients.Process
	lost string
}

func (a away) Wait() error {
	err := a.Process.Wait()
	if a.lost != "" {
		return errors.New(history.LostSight + a.lost)
	}
	return err
}

func (away) Ahead() (ahead, within time.Duration) { return 0, history.ClocksWithin }

// A driver on another machine is lost if it ends without its last words, unless it ended by itself.
func TestElsewhere(t *testing.T) {
	for _, test := range []struct {
		mode, lost, want string
		isLost           bool
	}{
		{"good", "", "", false},
		{"good", "its stream broke", "", false}, // after bye
		{"no bye", "", "ended without bye (lost sight of it: its output ended before its last line)", true},
		{"no bye", "its stream broke", "ended without bye (lost sight of it: its stream broke)", true},
		{"crash", "", "ended without bye (exit status 3)", false},
		{"cut line", "its stream broke", "lost sight of it: its stream broke", true},
	} {
		m := newMemory(1)
		d, err := clients.Start(t.Context(), clients.Options{
			Place: elsewhere{test.lost}, Command: fake(test.mode), Spec: contract.Spec{Run: "testtest", Clients: two()},
			Recorder: m, Clock: history.NewClock(),
		})
		if err != nil {
			t.Fatalf("%+v: %v", test, err)
		}
		d.Do(contract.Command{Do: "end", Process: contract.All})
		<-d.Done()
		err = d.Err()
		if lost := (*clients.Lost)(nil); errors.As(err, &lost) != test.isLost || !strings.Contains(cmp.Or(err, errors.New("")).Error(), test.want) || (err == nil) != (test.want == "") {
			t.Errorf("%+v: %v", test, err)
		}
		if n := m.count(func(e history.Event) bool { return e.Kind == history.KindEnd }); (n > 0) != (err == nil) {
			t.Errorf("%+v: %d processes are said to have ended in order", test, n)
		}
	}
}
