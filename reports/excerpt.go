package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"github.com/robustmq/rmq-mcp/internal/stored"
)

// ExcerptsDir has excerpts of the long logs of a run, in a copy that packs them: one of each, by
// its name. They are no evidence, and [Verify] holds them against it.
const ExcerptsDir = "excerpts"

// mostExcerpt is how many bytes of a log an excerpt has.
const mostExcerpt = 256 << 10

// Excerpt is the beginning and the end of a log of size bytes, in whole lines. A line between
// them says how much is missing.
func Excerpt(log io.ReaderAt, size int64) ([]byte, error) {
	half := min(size, mostExcerpt) / 2
	head, err := io.ReadAll(io.NewSectionReader(log, 0, half))
	if err != nil {
		return nil, err
	}
	tail, err := io.ReadAll(io.NewSectionReader(log, size-half, half))
	if err != nil {
		return nil, err
	}
	head = head[:bytes.LastIndexByte(head, '\n')+1]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	missing := size - int64(len(head)+len(tail))
	return fmt.Appendf(nil, "%s\n[%d of %d bytes of the log are not in this excerpt]\n\n%s", head, missing, size, tail), nil
}

// falseExcerpts names the excerpts of a run that are not of its logs.
func falseExcerpts(dir string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, ExcerptsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		is, err := isExcerpt(dir, e.Name())
		if err != nil {
			return nil, err
		}
		if !is {
			names = append(names, path.Join(ExcerptsDir, e.Name()))
		}
	}
	return names, err
}

// excerptMark is the line between the two parts of an excerpt, or the one that older copies have.
var excerptMark = regexp.MustCompile(`\n\[(\d+) of (\d+) bytes (?:of the log are not in this excerpt|left out of this excerpt; the packed log has them)\]\n\n`)

// isExcerpt reports whether an excerpt is of the log of its name: its beginning and its end.
func isExcerpt(dir, name string) (bool, error) {
	short, err := stored.ReadFile(filepath.Join(dir, ExcerptsDir, name), stored.MostText)
	if err != nil {
		return false, err
	}
	log, err := stored.Open(filepath.Join(dir, EvidenceDir, LogsDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return false, err
	}
	has := func(part []byte, at int64) (bool, error) {
		is := make([]byte, len(part))
		if at < 0 || at+int64(len(part)) > info.Size() {
			return false, nil
		}
		_, err := log.ReadAt(is, at)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return bytes.Equal(is, part), err
	}
	for _, at := range excerptMark.FindAllSubmatchIndex(short, -1) { // a log may have such a line itself
		head, tail := short[:at[0]], short[at[1]:]
		missing := info.Size() - int64(len(head)+len(tail))
		if string(short[at[2]:at[3]]) != fmt.Sprint(missing) || string(short[at[4]:at[5]]) != fmt.Sprint(info.Size()) {
			continue
		}
		begins, err := has(head, 0)
		if err != nil || !begins {
			return false, err
		}
		if ends, err := has(tail, info.Size()-int64(len(tail))); err != nil || ends {
			return ends, err
		}
	}
	return false, nil
}
