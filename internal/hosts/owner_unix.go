//go:build unix

package hosts

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and the group of another: root may edit for
// somebody else, and a file may be its group's.
func keepOwner(path string, like fs.FileInfo) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	was, ok := like.Sys().(*syscall.Stat_t)
	is, known := info.Sys().(*syscall.Stat_t)
	if !ok || !known || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	if err := os.Lchown(path, int(was.Uid), int(was.Gid)); err != nil {
		return fmt.Errorf("it belongs to user %d and group %d, and would not any more (%w); run this as one who may give it to them. Nothing was changed", was.Uid, was.Gid, err)
	}
	return nil
}
