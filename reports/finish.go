package reports

import (
	"crypto/ed25519"
	"path/filepath"
	"time"

	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Summary is a finished run in few words, with its verdict.
type Summary struct {
	Row
	Verdict verdict.Verdict `json:"-"`
}

// Finish ends a run whose evidence is complete: it scrubs the logs, seals the
// evidence, judges it and writes what people read. The seal comes before the
// judging, so that a checker that crashes takes no evidence along. Secrets are
// the cluster's own credentials; by their names they are found anyway.
func Finish(dir string, key ed25519.PrivateKey, secrets ...string) (*Summary, error) {
	if _, err := scrubLogs(dir, secret.New(secrets...)); err != nil {
		return nil, err
	}
	if _, err := sealEvidence(dir, key, time.Now()); err != nil {
		return nil, err
	}
	return finish(dir)
}

// finish judges a sealed run and writes its artefacts.
func finish(dir string) (*Summary, error) {
	d, err := Open(dir)
	if err != nil {
		return nil, err
	}
	v, found, err := d.Judge()
	if err != nil {
		return nil, err
	}
	if err := WriteJSON(filepath.Join(dir, VerdictFile), v); err != nil {
		return nil, err
	}
	return d.render(v, found)
}
