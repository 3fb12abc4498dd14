package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// pythonBuilder builds packages that come as sources. It has all that their
// setup.py imports, also where the interpreter's own venv has none.
const pythonBuilder = "setuptools==80.9.0"

// A pipReport is what pip would install: `pip install --report`.
type pipReport struct {
	Install []struct {
		DownloadInfo struct {
			URL         string `json:"url"`
			ArchiveInfo struct {
				Hashes map[string]string `json:"hashes"`
			} `json:"archive_info"`
		} `json:"download_info"`
		Metadata struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"metadata"`
	} `json:"install"`
}

// resolve answers requirements for this machine's kind: where a package has
// wheels for each system, others need a hash of their own.
func (p python) resolve(ctx context.Context, b build) ([]byte, error) {
	path, _, err := p.tool(b.sdk).find(ctx)
	if err != nil {
		return nil, err
	}
	venv := filepath.Join(b.temp, "venv")
	if err := p.venv(ctx, b, path, venv); err != nil {
		return nil, err
	}
	pip, err := p.pip(ctx, b, path)
	if err != nil {
		return nil, err
	}
	b.say("asking the package index")
	lock, sources, err := p.requirements(ctx, b, pip, venv, b.sdk.Package+"=="+b.sdk.Version)
	if err != nil || !sources {
		return lock, err
	}
	builder, _, err := p.requirements(ctx, b, pip, venv, pythonBuilder)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{lock, []byte(toBuild + "\n"), builder}, nil), nil
}

// requirements are the lines for one package and what it needs, and whether
// any of them comes as sources.
func (p python) requirements(ctx context.Context, b build, pip, venv, wanted string) (lines []byte, sources bool, err error) {
	file := filepath.Join(b.temp, "report.json")
	err = p.install(ctx, b, pip, venv, "--quiet", "--dry-run", "--ignore-installed", "--report", file, wanted)
	if err != nil {
		return nil, false, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false, err
	}
	var report pipReport
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, false, fmt.Errorf("read pip's report: %w", err)
	}
	for _, item := range report.Install {
		hash := item.DownloadInfo.ArchiveInfo.Hashes["sha256"]
		if hash == "" {
			return nil, false, errors.New("pip reports no hash of " + item.DownloadInfo.URL)
		}
		lines = fmt.Appendf(lines, "%s==%s --hash=sha256:%s\n", item.Metadata.Name, item.Metadata.Version, hash)
		sources = sources || !strings.HasSuffix(item.DownloadInfo.URL, ".whl")
	}
	return lines, sources, nil
}
