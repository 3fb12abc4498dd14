package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// pythonLibraries are the SDKs of Python.
func pythonLibraries() []Library {
	before2 := []string{contract.CannotPauseConnected, contract.CannotPublishReason}
	return []Library{
		{
			Lang: "python", Package: "paho-mqtt", Protocols: []string{contract.MQTT3, contract.MQTT5}, Transports: everyTransport(),
			Dedupes: true, Needs: "3.8",
			Versions: []Version{
				{Version: "2.2.0", Needs: "3.9"}, {Version: "2.1.0"}, {Version: "2.0.0"},
				{Version: "1.6.1", Cannot: before2}, {Version: "1.5.1", Cannot: before2},
				{Version: "1.4.0", Cannot: before2, Protocols: []string{contract.MQTT3}},
			},
			Source: "python/paho", Shared: "python/shared",
			build: python{},
		},
		{
			Lang: "python", Package: "aiomqtt", Protocols: []string{contract.MQTT3, contract.MQTT5}, Transports: everyTransport(),
			Dedupes: true, Cannot: []string{"dup", contract.CannotWithholdAck}, Needs: "3.9",
			Versions: []Version{{Version: "2.5.1"}},
			Source:   "python/aiomqtt", Shared: "python/shared",
			build: python{},
		},
		{
			Lang: "python", Package: "gmqtt", Protocols: []string{contract.MQTT3, contract.MQTT5}, Transports: []string{contract.TLS},
			Cannot: []string{"packet_id", contract.CannotTold, contract.CannotPublishReason}, Needs: "3.8",
			Versions: []Version{{Version: "0.8.0"}},
			Source:   "python/gmqtt", Shared: "python/shared",
			build: python{},
		},
		{
			Lang: "python", Package: "amqtt", Protocols: []string{contract.MQTT3}, Transports: []string{contract.TLS},
			Dedupes: true, Cannot: []string{contract.CannotWithholdAck}, Needs: "3.10",
			Versions: []Version{{Version: "0.11.4"}},
			Source:   "python/amqtt", Shared: "python/shared",
			build: python{},
		},
		{
			Lang: "python", Package: "nats-py", Protocols: []string{contract.MQ9}, Needs: "3.8",
			Cannot:   []string{contract.CannotSessionPresent, contract.CannotGrantedQoS, contract.CannotTold},
			Versions: []Version{{Version: "2.14.0"}},
			Source:   "python/nats", Shared: "python/shared",
			build: python{},
		},
		{
			Lang: "python", Package: "robustmq", Protocols: []string{contract.MQ9}, Needs: "3.10",
			Cannot:   []string{contract.CannotSessionPresent, contract.CannotGrantedQoS, contract.CannotTold, contract.CannotFetch, contract.CannotProtocol},
			Versions: []Version{{Version: "1.0.0"}},
			Source:   "python/robustmq", Shared: "python/shared",
			build: python{},
		},
	}
}

// python makes a virtual environment with one version of an SDK. A lock is a
// requirements file of pip with a hash at each line.
type python struct{}

// toBuild is a line of a lock. The requirements below it build those above it that
// come as sources. Without them pip would fetch the newest ones, with no hash.
const toBuild = "# To build the above:"

func (python) tool(sdk SDK) tool {
	return tool{names: []string{"python3", "python"}, least: sdk.Needs,
		install: systemPackages{debian: "python3 python3-venv", brew: "python", winget: "Python.Python.3.12"}}
}

func (p python) identity(ctx context.Context) string {
	path, version, err := p.tool(SDK{Needs: "3"}).find(ctx)
	if err != nil {
		return ""
	}
	return path + " " + version
}

func (p python) missing(ctx context.Context, sdk SDK) string {
	t := p.tool(sdk)
	path, _, err := t.find(ctx)
	if err != nil {
		return err.Error()
	}
	if runQuietly(ctx, path, "-c", "import venv, ensurepip") != nil {
		return fmt.Sprintf("%s has no venv; %s", path, t.install)
	}
	return ""
}

func (p python) make(ctx context.Context, b build) error {
	path, _, err := p.tool(b.sdk).find(ctx)
	if err != nil {
		return err
	}
	b.say("creating a virtual environment")
	if err := p.venv(ctx, b, path, b.dir); err != nil {
		return err
	}
	pip, err := p.pip(ctx, b, path)
	if err != nil {
		return err
	}
	wanted, builders, _ := bytes.Cut(b.lock, []byte(toBuild))
	b.say("installing")
	for i, requirements := range [][]byte{builders, wanted} {
		if len(bytes.TrimSpace(requirements)) == 0 {
			continue
		}
		file := filepath.Join(b.temp, fmt.Sprintf("requirements-%d.txt", i))
		if err := os.WriteFile(file, requirements, 0o644); err != nil {
			return err
		}
		err := p.install(ctx, b, pip, b.dir, "--quiet", "--no-deps", "--no-build-isolation", "--require-hashes", "-r", file)
		if err != nil {
			return err
		}
	}
	return b.copySources(filepath.Join(b.dir, "driver"))
}

// venv makes a virtual environment without pip, which takes most of the time
// and space.
func (python) venv(ctx context.Context, b build, python, dir string) error {
	return b.run(ctx, b.temp, nil, python, "-m", "venv", "--without-pip", dir)
}

// pip answers the folder of a pip that all virtual environments run. It is the
// interpreter's own, and made once.
func (p python) pip(ctx context.Context, b build, python string) (string, error) {
	key := sha256.Sum256([]byte(p.identity(ctx)))
	dir, err := cache{b.downloads}.once(ctx, fmt.Sprintf("pip-%x", key[:keyDigits/2]), func(dir, _ string) error {
		if err := p.venv(ctx, b, python, dir); err != nil {
			return err
		}
		return b.run(ctx, b.temp, nil, venvPython(dir), "-m", "ensurepip", "--default-pip")
	})
	if err != nil {
		return "", err
	}
	for _, place := range []string{"lib/python*/site-packages/pip", "Lib/site-packages/pip"} {
		if found, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(place))); len(found) > 0 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("ensurepip made no pip in %s", dir)
}

// install runs pip install in a virtual environment.
func (python) install(ctx context.Context, b build, pip, venv string, arguments ...string) error {
	argv := append([]string{venvPython(venv), pip, "install", "--disable-pip-version-check"}, arguments...)
	return b.run(ctx, b.temp, []string{"PIP_CACHE_DIR=" + b.downloads}, argv...)
}

// program does not look at the user's PYTHONPATH and packages.
func (python) program(dir string, _ SDK) Program {
	return Program{Argv: []string{venvPython(dir), "-E", "-s", filepath.Join(dir, "driver", "driver.py")}}
}

func venvPython(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "Scripts", "python.exe")
	}
	return filepath.Join(dir, "bin", "python3")
}
