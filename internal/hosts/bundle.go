package hosts

import (
	"archive/zip"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

const (
	home   = "https://github.com/robustmq/rmq-mcp"
	module = "github.com/robustmq/rmq-mcp"
)

// Bundle writes an MCP bundle, which Claude Desktop installs when it is opened: a zip
// with a manifest and a program, the same bytes each time. It reads the system and
// the version from the program, and refuses one that is no build of this module's
// cmd/rmq-mcp. The manifest's form:
// https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md.
func Bundle(w io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("bundle %s: %w; name a program that `go build ./cmd/rmq-mcp` made", program, err)
	}
	if info.Main.Path != module || info.Path != module+"/cmd/rmq-mcp" {
		return fmt.Errorf("bundle %s: it is built from %q; name a program that `go build ./cmd/rmq-mcp` made", program, info.Path)
	}
	goos := ""
	for _, s := range info.Settings {
		if s.Key == "GOOS" {
			goos = s.Value
		}
	}
	platform, ok := map[string]string{"darwin": "darwin", "linux": "linux", "windows": "win32"}[goos]
	if !ok {
		return fmt.Errorf("bundle %s: it is built for %q; there are bundles for darwin, linux and windows", program, goos)
	}
	name := "rmq-mcp"
	if goos == "windows" {
		name += ".exe"
	}
	manifest, err := json.MarshalIndent(manifestOf(name, platform, semantic(info.Main.Version)), "", "  ")
	if err != nil {
		return err
	}
	out := zip.NewWriter(w)
	if err := pack(out, "manifest.json", 0o644, strings.NewReader(string(manifest)+"\n")); err != nil {
		return fmt.Errorf("bundle %s: %w", program, err)
	}
	file, err := os.Open(program)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", program, err)
	}
	defer file.Close()
	if err := pack(out, "server/"+name, 0o755, file); err != nil {
		return fmt.Errorf("bundle %s: %w", program, err)
	}
	return out.Close()
}

func pack(out *zip.Writer, name string, mode fs.FileMode, content io.Reader) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate}
	header.SetMode(mode)
	w, err := out.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return err
}

type object map[string]any

func manifestOf(name, platform, version string) object {
	return object{
		"manifest_version": "0.3",
		"name":             "rmq-mcp",
		"version":          version,
		"description":      "Chaos-tests the RobustMQ message broker and proves what it found.",
		"author":           object{"name": "RobustMQ", "url": "https://github.com/robustmq"},
		"repository":       object{"type": "git", "url": home},
		"homepage":         home,
		"license":          "Apache-2.0",
		"keywords":         []string{"chaos-testing", "mqtt", "message-broker", "robustmq"},
		"tools_generated":  true, // the server lists them
		"compatibility":    object{"platforms": []string{platform}},
		"server": object{
			"type":        "binary",
			"entry_point": "server/" + name,
			"mcp_config":  object{"command": "${__dirname}/server/" + name, "args": []string{"serve"}},
		},
	}
}

// semantic is a module's version without its v; of a build that has none it is
// before all others.
func semantic(v string) string {
	if ok, _ := regexp.MatchString(`^v\d+\.\d+\.\d+`, v); !ok {
		return "0.0.0-devel"
	}
	return v[1:]
}
