package cluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A mapped file is resident, and no memory that a process takes for itself.
func TestMappedFilesAreNotAnonymous(t *testing.T) {
	const size, most = 64 << 20, 16 << 20
	n := &Node{name: "node-1", proc: &process{pid: os.Getpid(), gone: make(chan struct{})}}
	read := func() (resident, anonymous float64) {
		t.Helper()
		all, err := n.Metrics(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		resident, anonymous = all["process_memory_bytes"], all["process_anonymous_bytes"]
		if anonymous <= 0 || anonymous > resident {
			t.Fatalf("%.0f bytes are anonymous of %.0f", anonymous, resident)
		}
		return resident, anonymous
	}
	touch := func(fd, flags int) {
		t.Helper()
		memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Munmap(memory) })
		for i := 0; i < size; i += os.Getpagesize() {
			memory[i] = 1
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	resident, anonymous := read()
	touch(int(file.Fd()), unix.MAP_SHARED)
	withFile, without := read()
	if withFile-resident < size-most || without-anonymous > most {
		t.Errorf("with a mapped file of %d bytes resident grew by %.0f, anonymous by %.0f", size, withFile-resident, without-anonymous)
	}
	touch(-1, unix.MAP_PRIVATE|unix.MAP_ANON)
	if _, after := read(); after-without < size-most {
		t.Errorf("with %d bytes more anonymous grew by %.0f", size, after-without)
	}
}
