package reports

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// What a published copy may cost. The complete evidence stays with the run;
// its seal, which is published, says what it is.
const (
	maxPublishedHistory = 5 << 20
	maxPublishedLog     = 512 << 10
	maxPublishedGzip    = 5 << 20
	mostEvidence        = 256 << 20 // of one file that is read to be published
)

// bundle answers the files of a run to publish, under runs/ID/: what people
// read, and as much of the evidence as fits.
func bundle(dir, id string) ([]file, error) {
	var files []file
	add := func(rel string, content []byte) {
		files = append(files, file{path.Join(RunsDir, id, rel), content})
	}
	later := []string{NotesFile, BlameFile, MatrixFile, PlansFile} // written afterwards, if at all
	for _, name := range append([]string{ReportFile, MarkdownFile, TimelineFile, SummaryFile, VerdictFile, SealFile}, later...) {
		content, err := stored.ReadFile(filepath.Join(dir, name), stored.MostJSON)
		if os.IsNotExist(err) && slices.Contains(later, name) {
			continue
		}
		if err != nil {
			return nil, err
		}
		add(name, content)
	}
	err := filepath.WalkDir(filepath.Join(dir, EvidenceDir), func(file string, d fs.DirEntry, err error) error {
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
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	isLog := strings.HasPrefix(rel, EvidenceDir+"/"+LogsDir+"/")
	if !isLog && path.Base(rel) == history.EventsFile && info.Size() >= maxPublishedHistory {
		return nil
	}
	content, err := stored.ReadFile(file, mostEvidence)
	if err != nil {
		return err
	}
	if !isLog || len(content) <= maxPublishedLog {
		add(rel, content)
		return nil
	}
	add(rel, excerpt(content, maxPublishedLog))
	packed, err := pack(content)
	if err == nil && len(packed) <= maxPublishedGzip {
		add(rel+".gz", packed)
	}
	return err
}

// excerpt is the beginning and the end of a log, whole lines, with a line
// between them that says what is missing.
func excerpt(content []byte, limit int) []byte {
	head, tail := content[:limit/2], content[len(content)-limit/2:]
	head = head[:bytes.LastIndexByte(head, '\n')+1]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	missing := len(content) - len(head) - len(tail)
	return fmt.Appendf(nil, "%s\n[%d of %d bytes left out of this published copy]\n\n%s", head, missing, len(content), tail)
}

// pack compresses; the same content is the same bytes.
func pack(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
