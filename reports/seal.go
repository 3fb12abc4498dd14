package reports

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// A Seal says which bytes the evidence consisted of when the run ended. Its
// root is the name by which a run is reported: a bundle remade later has
// another one.
type Seal struct {
	Format         int                `json:"format"`
	Files          map[string]FileSum `json:"files"` // path under the run directory, with slashes
	JournalHead    string             `json:"journal_head"`
	JournalEntries int                `json:"journal_entries"`
	Root           string             `json:"root"`       // see [Root]
	PublicKey      string             `json:"public_key"` // ed25519, hexadecimal
	Signature      string             `json:"signature"`  // over [Seal.Statement], hexadecimal
	Time           time.Time          `json:"time"`
}

// A FileSum is the content of one file.
type FileSum struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"size"`
}

// Root is the SHA-256 over the list of files, sorted by path, one line each:
// hash, two spaces, size, two spaces, path.
func Root(files map[string]FileSum) string {
	var list strings.Builder
	for _, path := range sortedKeys(files) {
		fmt.Fprintf(&list, "%s  %d  %s\n", files[path].SHA256, files[path].Bytes, path)
	}
	sum := sha256.Sum256([]byte(list.String()))
	return hex.EncodeToString(sum[:])
}

// Statement is what the seal's key signs.
func (s *Seal) Statement() []byte {
	return fmt.Appendf(nil, "rmq-mcp seal %d\nroot %s\njournal %d %s\ntime %s\n",
		s.Format, s.Root, s.JournalEntries, s.JournalHead, s.Time.Format(time.RFC3339))
}

// sealEvidence hashes the evidence of dir, signs and writes SEAL.
func sealEvidence(dir string, key ed25519.PrivateKey, now time.Time) (*Seal, error) {
	files, err := sumEvidence(dir)
	if err != nil {
		return nil, err
	}
	s := &Seal{
		Format:    sealFormat,
		Files:     files,
		Root:      Root(files),
		PublicKey: hex.EncodeToString(key.Public().(ed25519.PublicKey)),
		Time:      now.UTC().Truncate(time.Second),
	}
	if s.JournalHead, s.JournalEntries, err = journalHead(dir); err != nil {
		return nil, fmt.Errorf("seal %s: %w", dir, err)
	}
	s.Signature = hex.EncodeToString(ed25519.Sign(key, s.Statement()))
	return s, WriteJSON(filepath.Join(dir, SealFile), s)
}

// Seal is the seal of a run, in a format that this program knows.
func (d Dir) Seal() (*Seal, error) {
	var s Seal
	if err := stored.ReadJSON(d.File(SealFile), &s); err != nil {
		return nil, err
	}
	if s.Format != sealFormat {
		return nil, fmt.Errorf("read %s: seal of format %d, this program knows %d; use the rmq-mcp that wrote it",
			d.File(SealFile), s.Format, sealFormat)
	}
	return &s, nil
}

func journalHead(dir string) (string, int, error) {
	head, entries, err := journal.Verify(filepath.Join(dir, EvidenceDir, JournalFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", 0, nil
	}
	return head, entries, err
}

// sumEvidence hashes every file under dir/evidence, and of a packed one what was packed.
func sumEvidence(dir string) (map[string]FileSum, error) {
	files := map[string]FileSum{}
	root := filepath.Join(dir, EvidenceDir)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a plain file; evidence consists of plain files only", path)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if strings.ContainsAny(rel, "\r\n") {
			return fmt.Errorf("the name %q has more than one line, so that the seal could not tell it from two files", rel)
		}
		if whole, packed := stored.Unpacked(path); packed {
			if _, there := os.Lstat(whole); errors.Is(there, fs.ErrNotExist) { // else both are, and one was added
				rel, path = strings.TrimSuffix(rel, stored.Packed), whole
			}
		}
		files[filepath.ToSlash(rel)], err = sumFile(path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("hash the evidence: %w", err)
	}
	return files, nil
}

func sumFile(path string) (FileSum, error) {
	f, err := stored.Open(path)
	if err != nil {
		return FileSum{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return FileSum{SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n}, err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// JSON is v as it is in files: indented, with a line end.
func JSON(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
