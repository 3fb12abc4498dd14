package microvm

import (
	"bytes"
	"fmt"
	"os"
)

// An archive is a cpio archive of the form "newc", which Linux takes as an
// initramfs: Documentation/driver-api/early-userspace/buffer-format.rst.
type archive struct {
	to    *bytes.Buffer
	inode int
}

// Types of files in a mode, and the console's number, of Linux.
const (
	isDirectory = 0o040000
	isDevice    = 0o020000
	isFile      = 0o100000

	consoleMajor, consoleMinor = 5, 1
)

func (a *archive) directory(name string) { a.entry(name, isDirectory|0o755, 0, 0, nil) }
func (a *archive) console(name string) {
	a.entry(name, isDevice|0o600, consoleMajor, consoleMinor, nil)
}

func (a *archive) file(name, from string, mode int) error {
	content, err := os.ReadFile(from)
	if err == nil {
		a.entry(name, isFile|mode, 0, 0, content)
	}
	return err
}

func (a *archive) end() { a.entry("TRAILER!!!", 0, 0, 0, nil) }

func (a *archive) entry(name string, mode, major, minor int, content []byte) {
	a.inode++
	fmt.Fprintf(a.to, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.inode, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(name)+1, 0, name)
	a.pad()
	a.to.Write(content)
	a.pad()
}

func (a *archive) pad() {
	for a.to.Len()%4 != 0 {
		a.to.WriteByte(0)
	}
}
