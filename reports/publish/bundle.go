package publish

import (
	"crypto/sha256"
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

// The size limits of a published copy. A file that is packed has all of its bytes, so that
// the seal of the copy holds. A tracker of files takes no larger ones.
const (
	mostPlain    = 512 << 10 // of a log or a history that is not packed
	mostPacked   = 50 << 20  // of one that is
	mostEvidence = 50 << 20  // of any other file
)

// leftOutFile lists the files of a copy that are too large for it, with their hashes.
const leftOutFile = "LEFT-OUT"

// later are the files of a run that were written after it ended, if at all.
var later = []string{reports.NotesFile, reports.BlameFile, reports.MatrixFile, reports.SeriesFile, reports.PlansFile}

// bundle returns the folder of a run to publish: what people read, and the evidence, large
// files packed. Its id becomes a path, and is what its record says: a stranger's could name
// another folder.
func bundle(dir, id string) (Folder, error) {
	if !stored.IsID(id) || id != filepath.Base(dir) {
		return Folder{}, fmt.Errorf("its record names run %q, and its directory is %s; rename the directory", id, filepath.Base(dir))
	}
	f := Folder{Name: path.Join(reports.RunsDir, id), Pages: map[string][]byte{}, Whole: true, Of: dir}
	if err := f.readPages(); err != nil {
		return f, err
	}
	add := func(rel string, content []byte) { f.Pages[rel] = content }
	var left strings.Builder
	err := filepath.WalkDir(filepath.Join(dir, reports.EvidenceDir), func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return addEvidence(file, filepath.ToSlash(rel), add, &left)
	})
	if left.Len() > 0 {
		add(leftOutFile, []byte("Too large for this copy (SHA-256, bytes, path):\n\n"+left.String()))
	}
	return f, err
}

// readPages reads the report of the run, its verdict and all that was said of it, as they are
// now: words that are added change them.
func (f Folder) readPages() error {
	for _, name := range append([]string{reports.ReportFile, reports.MarkdownFile, reports.TimelineFile, reports.SummaryFile, reports.VerdictFile, reports.SealFile}, later...) {
		content, err := stored.ReadFile(filepath.Join(f.Of, name), stored.MostJSON)
		if os.IsNotExist(err) && slices.Contains(later, name) {
			continue
		}
		if err != nil {
			return err
		}
		f.Pages[name] = content
	}
	return nil
}

// addEvidence adds a file of evidence: as it is, packed, or as a line of what is left out.
func addEvidence(path, rel string, add func(rel string, content []byte), left io.Writer) error {
	path, _ = stored.Unpacked(path) // of a copy, it is packed again in the same way
	rel, _ = stored.Unpacked(rel)
	f, err := stored.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	isLog := strings.HasPrefix(rel, reports.EvidenceDir+"/"+reports.LogsDir+"/")
	if !isLog && filepath.Base(rel) != history.EventsFile {
		return addPlain(f, info, rel, mostEvidence, add, left)
	}
	if info.Size() <= mostPlain {
		return addPlain(f, info, rel, mostPlain, add, left)
	}
	var packed []byte
	if info.Size() <= stored.MostUnpacked {
		if packed, err = stored.Pack(io.NewSectionReader(f, 0, info.Size()), mostPacked); err != nil {
			return fmt.Errorf("pack %s: %w", path, err)
		}
	}
	if packed == nil {
		err = leaveOut(f, info, rel, left)
	} else {
		add(rel+stored.Packed, packed)
	}
	if err != nil || !isLog {
		return err
	}
	short, err := reports.Excerpt(f, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	add(reports.ExcerptsDir+"/"+filepath.Base(rel), short)
	return nil
}

// addPlain adds a file as it is, where it has so many bytes at most.
func addPlain(f *os.File, info fs.FileInfo, rel string, most int64, add func(rel string, content []byte), left io.Writer) error {
	if info.Size() > most {
		return leaveOut(f, info, rel, left)
	}
	content, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
	if err == nil {
		add(rel, content)
	}
	return err
}

// leaveOut tells of a file that is left out.
func leaveOut(f *os.File, info fs.FileInfo, rel string, left io.Writer) error {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return err
	}
	fmt.Fprintf(left, "%x  %d  %s\n", h.Sum(nil), info.Size(), rel)
	return nil
}
