package experiment

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// Visitors leave one after the other and come back in the same order, until the
// time is over, which they do not lengthen or shorten.
func TestVisits(t *testing.T) {
	var told []contract.Command
	began := time.Now()
	err := visits(t.Context(), 70*time.Millisecond, 10*time.Millisecond, []int32{4, 7}, func(c contract.Command) error {
		told = append(told, c)
		return nil
	})
	if took := time.Since(began); err != nil || took < 70*time.Millisecond {
		t.Errorf("over after %s: %v", took, err)
	}
	leave, back := "disconnect", "connect"
	want := []contract.Command{{Do: leave, Process: 4}, {Do: leave, Process: 7}, {Do: back, Process: 4}, {Do: back, Process: 7}, {Do: leave, Process: 4}, {Do: leave, Process: 7}, {Do: back, Process: 4}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

func TestVisitsEnd(t *testing.T) {
	gone := errors.New("gone")
	calls := 0
	began := time.Now()
	err := visits(t.Context(), 50*time.Millisecond, time.Millisecond, []int32{1}, func(contract.Command) error { calls++; return gone })
	if !errors.Is(err, gone) || calls != 1 || time.Since(began) < 50*time.Millisecond {
		t.Errorf("a driver that is gone: %v after %d calls and %s", err, calls, time.Since(began))
	}
	ctx, stop := context.WithCancel(t.Context())
	err = visits(ctx, time.Hour, time.Millisecond, []int32{1}, func(contract.Command) error { stop(); return nil })
	if err != nil || ctx.Err() == nil {
		t.Errorf("a run that is stopped: %v", err)
	}
}
