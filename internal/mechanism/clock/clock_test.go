package clock

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestSet(t *testing.T) {
	control := filepath.Join(t.TempDir(), "clock")
	for _, ahead := range []time.Duration{0, time.Hour, -1500 * time.Millisecond} {
		if err := Set(control, ahead); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(control)
		if sign := text[0]; sign != '+' && sign != '-' { // else the library takes it for a date
			t.Errorf("%v is written %q", ahead, text)
		}
		if got, err := Ahead(control); got != ahead || err != nil {
			t.Errorf("read back %v, %v, want %v", got, err, ahead)
		}
	}
	if Set(filepath.Join(control, "none"), 0) == nil {
		t.Error("a directory that is not there was no error")
	}
}

// A Go program looks at the clock itself, and what is no program has none.
func TestFits(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{self, "/etc/hosts", filepath.Join(t.TempDir(), "none")} {
		if err := Fits(program); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), program) {
			t.Errorf("%s: %v", program, err)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	if path, err := exec.LookPath("sleep"); err == nil && Fits(path) != nil {
		t.Errorf("%s: %v", path, Fits(path))
	}
}
