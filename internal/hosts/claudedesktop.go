package hosts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// claudeDesktop is Claude Desktop:
// https://modelcontextprotocol.io/docs/develop/connect-local-servers has the
// file of macOS and Windows; on Linux it is where Electron keeps settings. It
// reads plain JSON, and shows no tools where that has a mistake.
func claudeDesktop() Host {
	dir := func(m Machine) string { return filepath.Join(m.appData(), "Claude") }
	return Host{
		Name:  "claude-desktop",
		Title: "Claude Desktop",
		User: func(m Machine) (string, error) {
			const file = "claude_desktop_config.json"
			packages, err := claudePackages(m)
			switch {
			case err != nil:
				return "", err
			case len(packages) == 0:
				return filepath.Join(dir(m), file), nil
			case len(packages) == 1:
				return filepath.Join(packages[0], "LocalCache", "Roaming", "Claude", file), nil
			}
			return "", fmt.Errorf("this machine has Claude Desktop %d times: %s; name its %s with --file", len(packages), strings.Join(packages, ", "), file)
		},
		Traces: func(m Machine) []string {
			packages, _ := claudePackages(m) // User answers why they cannot be read
			return append(packages, dir(m))
		},
		syntax: jsonText{plain: true},
		table:  "mcpServers",
		After:  "quit Claude Desktop, not only its window, and start it again",
	}
}

// claudePackages are the directories of Claude Desktop where Windows has it as
// a package, as its installer makes it since 2026. A package has an %APPDATA% of
// its own there: https://github.com/anthropics/claude-code/issues/26073,
// https://github.com/anthropics/claude-code/issues/25579.
func claudePackages(m Machine) ([]string, error) {
	if m.GOOS != "windows" {
		return nil, nil
	}
	all := filepath.Join(m.env("LOCALAPPDATA", filepath.Join(m.Home, "AppData", "Local")), "Packages")
	entries, err := os.ReadDir(all)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for Claude Desktop in %s: %w; name its file with --file", all, err)
	}
	dirs := []string{}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), "Claude_") {
			dirs = append(dirs, filepath.Join(all, e.Name()))
		}
	}
	return dirs, nil
}
