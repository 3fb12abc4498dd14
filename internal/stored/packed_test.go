package stored

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPacked(t *testing.T) {
	dir := t.TempDir()
	content := bytes.Repeat([]byte("the same again\n"), 100_000)
	packed, err := Pack(bytes.NewReader(content), 1<<20)
	if err != nil || packed == nil || len(packed) > len(content)/100 {
		t.Fatalf("%d bytes, %v", len(packed), err)
	}
	if again, _ := Pack(bytes.NewReader(content), 1<<20); !bytes.Equal(again, packed) {
		t.Error("the same content is packed in two ways")
	}
	path := filepath.Join(dir, "a.log")
	if err := os.WriteFile(path+Packed, packed, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(path, 1<<24); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := ReadFile(path, 100); err == nil || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf("a packed file that is too large: %v", err)
	}
	if err := os.WriteFile(path, []byte("itself"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(path, 1<<24); err != nil || string(got) != "itself" {
		t.Errorf("%q, %v: the file itself comes first", got, err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad"+Packed), packed[:len(packed)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "bad")); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half of a packed file: %v", err)
	}
}

func TestPackIsBounded(t *testing.T) {
	noise := rand.NewChaCha8([32]byte{})
	for size, want := range map[int64]bool{1: true, 1 << 20: true, 3 << 20: false, 9 << 20: false} {
		if packed, err := Pack(io.LimitReader(noise, size), 3<<20); err != nil || (packed != nil) != want {
			t.Errorf("%d bytes of noise are packed into %d bytes, %v; want some: %v", size, len(packed), err, want)
		}
	}
}
