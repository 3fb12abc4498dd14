package reports

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// Verified is what [Verify] found to hold.
type Verified struct {
	Seal   *Seal         `json:"seal"`
	State  verdict.State `json:"state"`
	Unlike []string      `json:"unlike,omitempty"` // what people read, where another version wrote it and this one would write it otherwise
	Tool   string        `json:"tool"`             // the version that recorded the run
}

// A BrokenSeal reports a run directory that differs from its seal, or whose
// verdict does not follow from the evidence.
type BrokenSeal struct {
	Dir      string
	Problems []string
}

func (e *BrokenSeal) Error() string {
	return fmt.Sprintf("%s is not what was sealed: %s", e.Dir, strings.Join(e.Problems, "; "))
}

// Verify holds the evidence of a run against its seal, file by file, its
// verdict against one decided anew, and the files for people, excerpts of logs
// too, against ones written anew. A mismatch is a [*BrokenSeal]. Other errors say why the
// comparison was impossible. The caller compares whose key signed.
//
// If another version recorded the run, the verdict must have the same state and
// the same claims must fail. The wording and the drawing may differ between
// versions.
func Verify(dir string) (*Verified, error) {
	seal, err := VerifySeal(dir)
	if err != nil {
		return nil, err
	}
	d, err := Open(dir)
	if err != nil {
		return nil, err
	}
	v, found, err := d.rejudge()
	if err != nil {
		return nil, err
	}
	unlike, err := d.compareRendered(v, found)
	if err != nil {
		return nil, err
	}
	return &Verified{Seal: seal, State: v.State, Unlike: unlike, Tool: d.Run.Tool}, nil
}

// ours reports whether this version recorded and judged the run. Two builds without a version
// are the same if they have the same checkers.
func (d *RunDir) ours(now verdict.Verdict) bool {
	if d.Run.Tool != build.Version() || d.Run.Tool != build.Unversioned {
		return d.Run.Tool == build.Version()
	}
	var was verdict.Verdict
	if err := stored.ReadJSON(d.File(VerdictFile), &was); err != nil {
		return true // what cannot be read is refused
	}
	return slices.EqualFunc(was.Results, now.Results, func(a, b verdict.Result) bool { return a.Checker == b.Checker })
}

// compareRendered refuses files for people that are missing or differ from the
// evidence and the notes. If another version recorded the run, differing files
// are only named.
func (d *RunDir) compareRendered(v verdict.Verdict, found checker.Report) (unlike []string, err error) {
	files, _, err := d.rendered(v, found)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, f := range files {
		written, err := stored.ReadFile(d.File(f.path), stored.MostJSON)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, f.path+" is missing")
		case err != nil:
			return nil, err
		case bytes.Equal(written, f.content):
		case d.ours(v):
			problems = append(problems, f.path+" is not what this version of rmq-mcp writes of the evidence and the notes")
		default:
			unlike = append(unlike, f.path)
		}
	}
	others, err := falseExcerpts(string(d.Dir))
	if err != nil {
		return nil, err
	}
	for _, name := range others {
		problems = append(problems, name+" is not the beginning and the end of the log of its name")
	}
	if len(problems) > 0 {
		return nil, &BrokenSeal{string(d.Dir), problems}
	}
	return unlike, nil
}

// VerifySeal holds the evidence of a run against its seal, file by file, and
// nothing else. A mismatch is a [*BrokenSeal].
func VerifySeal(dir string) (*Seal, error) {
	if err := checkRunDir(dir); err != nil {
		return nil, err
	}
	seal, err := Dir(dir).Seal()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("verify %s: it is not sealed; wait until the run has ended, or end it with `rmq-mcp heal`: %w", dir, err)
	}
	if err != nil {
		return nil, &BrokenSeal{dir, []string{err.Error()}}
	}
	problems, err := seal.compare(dir)
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", dir, err)
	}
	if len(problems) > 0 {
		return nil, &BrokenSeal{dir, problems}
	}
	return seal, nil
}

// compare says how the evidence of dir differs from what the seal holds, and
// what is wrong with the seal itself.
func (s *Seal) compare(dir string) (problems []string, err error) {
	have, err := sumEvidence(dir)
	if err != nil {
		return nil, err
	}
	for _, path := range sortedKeys(s.Files) {
		sum, ok := have[path]
		switch {
		case !ok:
			problems = append(problems, path+" is missing")
		case sum != s.Files[path]:
			problems = append(problems, path+" was changed")
		}
	}
	for _, path := range sortedKeys(have) {
		if _, ok := s.Files[path]; !ok {
			problems = append(problems, path+" was added")
		}
	}
	if Root(s.Files) != s.Root {
		problems = append(problems, "the seal's root is not that of its files")
	}
	if !s.signed() {
		problems = append(problems, "the seal's signature does not fit")
	}
	if len(problems) > 0 {
		return problems, nil
	}
	head, n, err := journalHead(dir)
	if err != nil || head != s.JournalHead || n != s.JournalEntries {
		problems = append(problems, "the journal's chain is not the sealed one")
	}
	return problems, nil
}

func (s *Seal) signed() bool {
	key, kerr := hex.DecodeString(s.PublicKey)
	signature, serr := hex.DecodeString(s.Signature)
	return kerr == nil && serr == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, s.Statement(), signature)
}

// rejudge decides anew and refuses a verdict.json that says anything else.
func (d *RunDir) rejudge() (verdict.Verdict, checker.Report, error) {
	written, err := stored.ReadFile(d.File(VerdictFile), stored.MostJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return verdict.Verdict{}, checker.Report{}, &BrokenSeal{string(d.Dir), []string{VerdictFile + " is missing; rmq-mcp judge decides it again"}}
	}
	if err != nil {
		return verdict.Verdict{}, checker.Report{}, err
	}
	v, found, err := d.Judge()
	if err != nil {
		return v, found, err
	}
	decided, err := JSON(v)
	if err == nil && !bytes.Equal(written, decided) && (d.ours(v) || !sameVerdict(written, v)) {
		err = &BrokenSeal{string(d.Dir), []string{fmt.Sprintf("%s is not what this version of rmq-mcp decides from the evidence: %s", VerdictFile, v.Headline)}}
	}
	return v, found, err
}

// sameVerdict reports whether a written verdict has the state of another, and
// the same claims fail. FAIL-once was called FAIL-nondeterministic before.
func sameVerdict(written []byte, v verdict.Verdict) bool {
	var was verdict.Verdict
	if err := json.Unmarshal(written, &was); err != nil {
		return false
	}
	renamed := was.State == verdict.FailNondetermin && v.State == verdict.FailOnce
	return (was.State == v.State || renamed) && slices.Equal(failing(was), failing(v))
}

func failing(v verdict.Verdict) []string { return slices.Sorted(slices.Values(v.Failed())) }
