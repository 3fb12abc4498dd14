package disk

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Erased files that the kernel still knew free nothing a second time when the kernel
// forgets them. A limit therefore holds on an empty disk too.
func TestWhatIsForgottenLateFreesNothing(t *testing.T) {
	tr := newTestTree(t, t.TempDir(), Ext4())
	made := func(dir *inode, name string, mode uint32) *inode {
		x, err := tr.make(slot{dir, name}, mode, func(path string) error {
			if mode == unix.S_IFDIR {
				return os.Mkdir(path, 0o755)
			}
			return os.WriteFile(path, nil, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	d := made(tr.root, "d", unix.S_IFDIR)
	a := made(d, "a", unix.S_IFREG)
	write := func(x *inode, data []byte, off int64) error {
		if _, err := tr.open(x); err != nil {
			t.Fatal(err)
		}
		defer tr.close(x)
		_, err := tr.write(x, data, off)
		return err
	}
	if err := write(a, make([]byte, 10000), 0); err != nil || tr.usage.read() != (Usage{Bytes: 12288, Inodes: 2}) {
		t.Fatalf("%+v, %v", tr.usage.read(), err)
	}
	if _, _, err := tr.erase(nil); err != nil {
		t.Fatal(err)
	}
	_ = write(a, make([]byte, 5000), 20000) // by a process that still had it
	for _, x := range []*inode{d, a} {
		tr.forgotten(x.id, 1)
	}
	if used := tr.usage.read(); used != (Usage{}) {
		t.Errorf("an empty disk has %+v", used)
	}
	tr.usage.limit(Limit{Bytes: 1})
	if err := write(made(tr.root, "b", unix.S_IFREG), []byte("x"), 0); err == nil {
		t.Error("a full disk takes a byte")
	}
}
