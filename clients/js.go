package clients

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// jsLibraries are the SDKs of JavaScript.
func jsLibraries() []Library {
	return []Library{
		{
			Lang: "js", Package: "mqtt", Protocols: []string{contract.MQTT3, contract.MQTT5}, Transports: everyTransport(),
			Dedupes: true, Cannot: []string{contract.CannotPauseConnected}, Needs: "16.0",
			Versions: []Version{{Version: "5.16.0"}, {Version: "5.10.4"}, {Version: "5.0.5"}, {Version: "4.3.8"}, {Version: "4.2.8"}},
			Source:   "js/mqttjs", Shared: "js/shared",
			build: javascript{},
		},
		{
			Lang: "js", Package: "nats", Protocols: []string{contract.MQ9}, Needs: "16.0",
			Cannot:   []string{contract.CannotSessionPresent, contract.CannotGrantedQoS, contract.CannotTold},
			Versions: []Version{{Version: "2.29.3"}},
			Source:   "js/nats", Shared: "js/shared",
			build: javascript{},
		},
	}
}

// javascript makes a folder of packages with one version of an SDK. A lock is
// a package-lock.json without addresses: npm asks the registry that it is set
// up with, and compares hashes.
type javascript struct{}

func (javascript) node(sdk SDK) tool {
	return tool{names: []string{"node"}, least: sdk.Needs,
		install: systemPackages{debian: "nodejs npm", brew: "node", winget: "OpenJS.NodeJS.LTS"}}
}

func (j javascript) npm() tool {
	return tool{names: []string{"npm"}, least: "7.0", install: j.node(SDK{}).install}
}

func (j javascript) identity(ctx context.Context) string {
	path, version, err := j.node(SDK{}).find(ctx)
	if err != nil {
		return ""
	}
	return path + " " + version
}

func (j javascript) missing(ctx context.Context, sdk SDK) string {
	for _, t := range []tool{j.node(sdk), j.npm()} {
		if _, _, err := t.find(ctx); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (j javascript) make(ctx context.Context, b build) error {
	npm, _, err := j.npm().find(ctx)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"package.json": manifest(b.sdk), "package-lock.json": b.lock} {
		if err := os.WriteFile(filepath.Join(b.dir, name), content, 0o644); err != nil {
			return err
		}
	}
	b.say("installing")
	if err := b.run(ctx, b.dir, j.environment(b), npm, "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"); err != nil {
		return err
	}
	return b.copySources(filepath.Join(b.dir, "driver"))
}

func (javascript) environment(b build) []string {
	return []string{"npm_config_cache=" + b.downloads, "npm_config_update_notifier=false"}
}

// manifest is the package.json of a folder that holds one SDK.
func manifest(sdk SDK) []byte {
	return fmt.Appendf(nil, `{"name": "driver", "private": true, "dependencies": {%q: %q}}`+"\n", sdk.Package, sdk.Version)
}

func (javascript) program(dir string, _ SDK) Program {
	return Program{Argv: []string{"node", filepath.Join(dir, "driver", "driver.mjs")}}
}

// resolve answers a lock with what the registry has now.
func (j javascript) resolve(ctx context.Context, b build) ([]byte, error) {
	npm, _, err := j.npm().find(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(b.temp, "package.json"), manifest(b.sdk), 0o644); err != nil {
		return nil, err
	}
	b.say("asking the package index")
	err = b.run(ctx, b.temp, j.environment(b), npm, "install", "--package-lock-only", "--omit-lockfile-registry-resolved",
		"--ignore-scripts", "--no-audit", "--no-fund")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(b.temp, "package-lock.json"))
}
