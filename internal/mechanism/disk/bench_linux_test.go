package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkSideBySide does each operation in turn in a plain directory and through a
// layer with its tree on the same file system. Other load on the machine then hits
// both. ns/op is the sum; the metrics tell them apart.
func BenchmarkSideBySide(b *testing.B) {
	page := make([]byte, 4096)
	for _, bench := range []struct {
		name string
		op   func(f *os.File, dir string, i int) error
	}{
		{"write 4KiB and fdatasync", func(f *os.File, _ string, i int) error {
			if _, err := f.WriteAt(page, int64(i)*4096); err != nil {
				return err
			}
			return unix.Fdatasync(int(f.Fd()))
		}},
		{"overwrite 4KiB and fdatasync", func(f *os.File, _ string, i int) error {
			if _, err := f.WriteAt(page, int64(i%16)*4096); err != nil {
				return err
			}
			return unix.Fdatasync(int(f.Fd()))
		}},
		{"write 4KiB", func(f *os.File, _ string, i int) error {
			_, err := f.WriteAt(page, int64(i%65536)*4096)
			return err
		}},
		{"write 128KiB", func(f *os.File, _ string, i int) error {
			_, err := f.WriteAt(make([]byte, 128<<10), int64(i%2048)*(128<<10))
			return err
		}},
		{"read 4KiB, cached", func(f *os.File, _ string, i int) error {
			_, err := f.ReadAt(make([]byte, 4096), 0)
			return err
		}},
		{"create, rename, remove", func(_ *os.File, dir string, i int) error {
			a, z := filepath.Join(dir, "a"), filepath.Join(dir, "z")
			f, err := os.Create(a)
			if err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			if err := os.Rename(a, z); err != nil {
				return err
			}
			return os.Remove(z)
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			_, layer := started(b, Ext4())
			plain := b.TempDir()
			var took [2]time.Duration
			var files [2]*os.File
			for i, dir := range []string{plain, layer} {
				f, err := os.Create(filepath.Join(dir, "file"))
				if err == nil {
					_, err = f.Write(page)
				}
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				files[i] = f
			}
			n := 0
			for b.Loop() {
				for i, dir := range []string{plain, layer} {
					start := time.Now()
					if err := bench.op(files[i], dir, n); err != nil {
						b.Fatal(err)
					}
					took[i] += time.Since(start)
				}
				n++
			}
			b.ReportMetric(float64(n)/took[0].Seconds(), "plain/s")
			b.ReportMetric(float64(n)/took[1].Seconds(), "layer/s")
			b.ReportMetric(100*took[0].Seconds()/took[1].Seconds(), "%")
		})
	}
}
