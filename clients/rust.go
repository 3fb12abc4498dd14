package clients

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/install"
)

// rustLibraries are the SDKs of Rust.
func rustLibraries() []Library {
	return []Library{
		{
			Lang: "rust", Package: "rumqttc",
			Protocols: []string{contract.MQTT3, contract.MQTT5}, Transports: []string{"tls", "ws", "wss"},
			Cannot: []string{contract.CannotExactlyOnce, contract.CannotTold},
			Needs:  "1.75",
			Versions: []Version{
				{Version: "0.25.1"},
				{Version: "0.24.0"},
				{Version: "0.22.0"},
				// MQTT 5 there has no properties: no session outlives its connection.
				{Version: "0.20.0", Protocols: []string{contract.MQTT3}},
			},
			Source: "rust/rumqttc",
			Shared: "rust/driver",
			build:  rust{},
		},
		{
			Lang: "rust", Package: "async-nats", Protocols: []string{contract.MQ9}, Needs: "1.89",
			Cannot:   []string{contract.CannotSessionPresent, contract.CannotGrantedQoS, contract.CannotTold},
			Versions: []Version{{Version: "0.51.0"}},
			Source:   "rust/nats", Shared: "rust/driver",
			build: rust{},
		},
		{
			Lang: "rust", Package: "robustmq", Protocols: []string{contract.MQ9}, Needs: "1.75",
			Cannot:   []string{contract.CannotSessionPresent, contract.CannotGrantedQoS, contract.CannotTold, contract.CannotFetch, contract.CannotProtocol},
			Versions: []Version{{Version: "1.0.0"}},
			Source:   "rust/robustmq", Shared: "rust/driver",
			build: rust{},
		},
	}
}

// rust builds a program with cargo. A driver's sources have a manifest for
// each minor version of its SDK, manifests/0.24.toml, in which VERSION stands
// for the version; a lock is Cargo.lock.
type rust struct{}

func (rust) cargo(sdk SDK) tool {
	return tool{names: []string{"cargo"}, least: sdk.Needs,
		install: systemPackages{debian: "cargo-web", brew: "rust", winget: "Rustlang.Rustup"}}
}

func (rust) linker() tool {
	return tool{names: []string{"cc", "gcc", "clang"}, install: systemPackages{debian: "gcc libc6-dev", brew: "llvm", winget: "LLVM.LLVM"}}
}

// identity is empty: what was built needs nothing of what built it.
func (rust) identity(context.Context) string { return "" }

func (r rust) missing(ctx context.Context, sdk SDK) string {
	tools := []tool{r.cargo(sdk)}
	if runtime.GOOS != "windows" { // where Rust brings its linker, or finds Microsoft's by itself
		tools = append(tools, r.linker())
	}
	for _, t := range tools {
		if _, _, err := t.find(ctx); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (r rust) make(ctx context.Context, b build) error {
	if err := b.rustSources(); err != nil {
		return err
	}
	lock := filepath.Join(b.temp, "sdk", "Cargo.lock")
	if err := os.WriteFile(lock, b.lock, 0o644); err != nil {
		return err
	}
	// All builds share what they compile, one at a time, and the name of what
	// comes out.
	hold, err := install.Lock(ctx, filepath.Join(b.downloads, "target.lock"))
	if err != nil {
		return err
	}
	defer hold.Unlock()
	b.say("compiling")
	if err := r.run(ctx, b, "build", "--release", "--locked"); err != nil {
		return err
	}
	program, err := os.ReadFile(filepath.Join(b.downloads, "target", "release", rustProgram(b.sdk)))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, rustProgram(b.sdk)), program, 0o755)
}

func (rust) program(dir string, sdk SDK) Program {
	return Program{Argv: []string{filepath.Join(dir, rustProgram(sdk))}}
}

// rustProgram is what cargo calls the program: by the manifest's package.
func rustProgram(sdk SDK) string { return sdk.Package + "-driver" + exe() }

// resolve lets cargo choose the newest packages that the least compiler builds.
func (r rust) resolve(ctx context.Context, b build) ([]byte, error) {
	if err := b.rustSources(); err != nil {
		return nil, err
	}
	b.say("asking the package index")
	if err := r.run(ctx, b, "generate-lockfile"); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(b.temp, "sdk", "Cargo.lock"))
}

// rustSources puts the driver into the folder sdk, and the crate that it shares
// with others beside it.
func (b build) rustSources() error {
	sdk := filepath.Join(b.temp, "sdk")
	if err := os.CopyFS(sdk, b.source); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(b.temp, "driver"), b.shared); err != nil {
		return err
	}
	minor := b.sdk.Version[:strings.LastIndexByte(b.sdk.Version, '.')]
	manifest, err := fs.ReadFile(b.source, path.Join("manifests", minor+".toml"))
	if err != nil {
		return err
	}
	manifest = bytes.ReplaceAll(manifest, []byte("VERSION"), []byte(b.sdk.Version))
	return os.WriteFile(filepath.Join(sdk, "Cargo.toml"), manifest, 0o644)
}

// run runs cargo, which keeps what it downloads and compiles below our cache.
func (r rust) run(ctx context.Context, b build, args ...string) error {
	cargo, _, err := r.cargo(b.sdk).find(ctx)
	if err != nil {
		return err
	}
	argv := []string{cargo}
	if config := userCargoConfig(); config != "" {
		argv = append(argv, "--config", config)
	}
	return b.run(ctx, filepath.Join(b.temp, "sdk"), []string{
		"CARGO_HOME=" + filepath.Join(b.downloads, "home"),
		"CARGO_TARGET_DIR=" + filepath.Join(b.downloads, "target"),
		"CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS=fallback",
		"CARGO_TERM_COLOR=never",
	}, append(argv, args...)...)
}

// userCargoConfig is where a person has named a registry's mirror or a proxy;
// "" where there is none.
func userCargoConfig() string {
	home := os.Getenv("CARGO_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(user, ".cargo")
	}
	for _, name := range []string{"config.toml", "config"} {
		if file := filepath.Join(home, name); exists(file) {
			return file
		}
	}
	return ""
}

// exe is how the name of a program ends.
func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
