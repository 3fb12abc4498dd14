package hosttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := lock(t.Context(), path, "first")
	if err != nil {
		t.Fatal(err)
	}
	if holder, err := os.ReadFile(path + named); err != nil || string(holder) != "first" {
		t.Errorf("the lock names %q, %v", holder, err)
	}

	impatient, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := lock(impatient, path, "second"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it is held: %v", err)
	}

	release()
	release, err = lock(t.Context(), path, "third")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if holder, err := os.ReadFile(path + named); err != nil || string(holder) != "third" {
		t.Errorf("then the lock names %q, %v", holder, err)
	}
}
