package publish

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// The size limits of a published copy. The complete evidence stays with the
// run. The published seal identifies it.
const (
	maxPublishedHistory = 5 << 20
	maxPublishedLog     = 512 << 10
	maxPublishedGzip    = 5 << 20
	mostEvidence        = 256 << 20 // of one file that is no log
)

// bundle answers the files of a run to publish, under runs/ID/: what people
// read, and as much of the evidence as fits.
func bundle(dir, id string) ([]file, error) {
	var files []file
	add := func(rel string, content []byte) {
		files = append(files, file{path.Join(reports.RunsDir, id, rel), content})
	}
	later := []string{reports.NotesFile, reports.BlameFile, reports.MatrixFile, reports.SeriesFile, reports.PlansFile} // written afterwards, if at all
	for _, name := range append([]string{reports.ReportFile, reports.MarkdownFile, reports.TimelineFile, reports.SummaryFile, reports.VerdictFile, reports.SealFile}, later...) {
		content, err := stored.ReadFile(filepath.Join(dir, name), stored.MostJSON)
		if os.IsNotExist(err) && slices.Contains(later, name) {
			continue
		}
		if err != nil {
			return nil, err
		}
		add(name, content)
	}
	err := filepath.WalkDir(filepath.Join(dir, reports.EvidenceDir), func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return addEvidence(file, filepath.ToSlash(rel), add)
	})
	return files, err
}

func addEvidence(file, rel string, add func(rel string, content []byte)) error {
	if strings.HasPrefix(rel, reports.EvidenceDir+"/"+reports.LogsDir+"/") {
		return addLog(file, rel, add)
	}
	info, err := os.Lstat(file)
	if err != nil || path.Base(rel) == history.EventsFile && info.Size() >= maxPublishedHistory {
		return err
	}
	content, err := stored.ReadFile(file, mostEvidence)
	if err == nil {
		add(rel, content)
	}
	return err
}

// addLog adds a log of any size: whole, or as an excerpt beside which it is packed,
// where that is small enough.
func addLog(file, rel string, add func(rel string, content []byte)) error {
	log, err := stored.Open(file)
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err
	}
	short, err := excerpt(log, info.Size(), maxPublishedLog)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	add(rel, short)
	if info.Size() <= maxPublishedLog {
		return nil
	}
	packed, err := pack(io.NewSectionReader(log, 0, info.Size()), maxPublishedGzip)
	if err == nil && packed != nil {
		add(rel+".gz", packed)
	}
	return err
}

// excerpt returns the beginning and the end of a log that is longer than a
// limit, in whole lines. A line between them says how much is missing.
func excerpt(log io.ReaderAt, size, limit int64) ([]byte, error) {
	if size <= limit {
		return io.ReadAll(io.NewSectionReader(log, 0, size))
	}
	head, err := io.ReadAll(io.NewSectionReader(log, 0, limit/2))
	if err != nil {
		return nil, err
	}
	tail, err := io.ReadAll(io.NewSectionReader(log, size-limit/2, limit/2))
	if err != nil {
		return nil, err
	}
	head = head[:bytes.LastIndexByte(head, '\n')+1]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	missing := size - int64(len(head)+len(tail))
	return fmt.Appendf(nil, "%s\n[%d of %d bytes left out of this published copy]\n\n%s", head, missing, size, tail), nil
}

// pack compresses; the same content is the same bytes. It returns nil where that is
// more than most bytes.
func pack(content io.Reader, most int) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	for {
		n, err := io.CopyN(w, content, 1<<20)
		if b.Len() > most {
			return nil, nil
		}
		if err == io.EOF && n < 1<<20 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil || b.Len() > most {
		return nil, err
	}
	return b.Bytes(), nil
}
