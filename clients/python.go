package clients

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const lockPoll = 100 * time.Millisecond

//go:embed drivers/python/paho/driver.py
var pythonDriver []byte

// provisionPython builds a virtual environment with one version of an SDK.
func provisionPython(ctx context.Context, cacheDir string, sdk SDK, progress func(string)) (Program, error) {
	name := "python-" + sdk.Package + "-" + sdk.Version
	dir, err := provisionOnce(ctx, cacheDir, name, func(dir string) error {
		return buildVenv(ctx, dir, sdk, progress)
	})
	if err != nil {
		return Program{}, err
	}
	script, err := writeScript(dir)
	if err != nil {
		return Program{}, err
	}
	return Program{Argv: []string{venvPython(dir), script}}, nil
}

func buildVenv(ctx context.Context, dir string, sdk SDK, progress func(string)) error {
	python, err := findPython()
	if err != nil {
		return err
	}
	progress(fmt.Sprintf("%s: creating a virtual environment", sdk))
	if err := runTool(ctx, python, "-m", "venv", dir); err != nil {
		return fmt.Errorf("%w; %s", err, pythonHint())
	}
	progress(fmt.Sprintf("%s: installing", sdk))
	requirement := sdk.Package + "==" + sdk.Version
	if err := runTool(ctx, venvPython(dir), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement); err != nil {
		return fmt.Errorf("%w; check that this machine reaches its Python package index", err)
	}
	return nil
}

// findPython looks for Python 3 by the names it has.
func findPython() (string, error) {
	for _, name := range []string{"python3", "python"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if exec.Command(path, "-c", "import sys; sys.exit(sys.version_info < (3, 7))").Run() == nil {
			return path, nil
		}
	}
	return "", errors.New("no Python 3.7 or newer is in PATH; " + pythonHint())
}

func pythonHint() string {
	switch runtime.GOOS {
	case "darwin":
		return "run: brew install python"
	case "windows":
		return "run: winget install Python.Python.3.12"
	}
	return "on Debian and Ubuntu run: sudo apt-get install python3 python3-venv"
}

func venvPython(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "Scripts", "python.exe")
	}
	return filepath.Join(dir, "bin", "python3")
}

// writeScript puts the driver of this build beside the SDK, under the name of
// its content: another build may be using the same folder.
func writeScript(dir string) (string, error) {
	script := filepath.Join(dir, "driver-"+hexCRC(crc32.ChecksumIEEE(pythonDriver))+".py")
	if old, err := os.ReadFile(script); err == nil && string(old) == string(pythonDriver) {
		return script, nil
	}
	temp, err := os.CreateTemp(dir, "driver-*.tmp")
	if err != nil {
		return "", err
	}
	_, err = temp.Write(pythonDriver)
	if err = errors.Join(err, temp.Close()); err != nil {
		return "", errors.Join(err, os.Remove(temp.Name()))
	}
	return script, os.Rename(temp.Name(), script)
}

// runTool runs a tool; its error ends with what the tool printed last.
func runTool(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(string(out))
	if len(text) > tailBytes {
		text = "… " + text[len(text)-tailBytes:]
	}
	return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, text)
}
