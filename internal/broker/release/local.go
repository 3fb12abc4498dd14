package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
)

// Has reports whether a directory has the archive of a version for this platform. The
// directory is laid out like [DefaultBase].
func Has(dir, version string) bool {
	info, err := os.Stat(archiveIn(dir, version))
	return err == nil && info.Mode().IsRegular()
}

// Local is the request for the archive of a version in a directory. Its checksum is that of
// the archive as it is now. An archive that was made anew is so unpacked anew.
func Local(dir, version, cache string) (r Request, err error) {
	path := archiveIn(dir, version)
	defer func() {
		if err != nil {
			err = fmt.Errorf("read the archive of %s: %w", version, err)
		}
	}()
	file, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return r, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return r, err
	}
	base := url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}
	return Request{Version: version, Base: base.String(), SHA256: hex.EncodeToString(hash.Sum(nil)), Cache: cache}, nil
}

func archiveIn(dir, version string) string {
	r := Request{Version: version, Platform: here()}
	return filepath.Join(dir, version, r.name()+".tar.gz")
}
