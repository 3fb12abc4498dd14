package clients

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// cLibraries returns the SDKs of C. Debian has one version of each. More versions
// of Paho's come from a Rust crate that includes their sources.
func cLibraries() []Library {
	both := []string{contract.MQTT3, contract.MQTT5}
	return []Library{
		{
			Lang: "c", Package: "paho.mqtt.c", Protocols: both, Transports: []string{contract.TLS, contract.WS, contract.WSS},
			Dedupes: true, Cannot: []string{contract.CannotPauseConnected},
			Versions: []Version{
				{Version: "1.3.14"},
				{Version: "1.3.12"},
				{Version: "1.3.8", Transports: []string{contract.TLS, contract.WS}}, // over wss it loses bytes of most CONNACKs
			},
			Source: "c/pahoc", Shared: "c/driver",
			build: c{debian: "libpaho-mqtt-dev", packaged: "1.3.12", library: "libpaho-mqtt3as.so.1"},
		},
		{
			Lang: "c", Package: "libmosquitto", Protocols: both, Transports: []string{contract.TLS},
			Cannot: []string{contract.CannotDup, contract.CannotPauseConnected},
			Versions: []Version{
				{Version: "2.0.11"},
			},
			Source: "c/mosquitto", Shared: "c/driver",
			build: c{debian: "libmosquitto-dev", packaged: "2.0.11", library: "libmosquitto.so.1", linked: true},
		},
	}
}

// c compiles a driver and puts the SDK's library beside it: a copy of Debian's,
// or one built from the sources in a crate. A lock is the name of a Debian
// package and its upstream version, or a Cargo.lock of one crate.
type c struct {
	debian   string // package with the SDK's headers and library
	packaged string // the version that it has
	library  string // the library's file
	linked   bool   // the driver is linked to the library; else it loads copies of it
}

func (c) cc() tool {
	return tool{names: []string{"cc", "gcc", "clang"}, install: systemPackages{debian: "gcc libc6-dev"}}
}

func (c) cmake() tool {
	return tool{names: []string{"cmake"}, install: systemPackages{debian: "cmake"}}
}

func (c) cargo() tool {
	return tool{names: []string{"cargo"}, install: systemPackages{debian: "cargo"}}
}

// identity is the C library that drivers are linked to.
func (c) identity(ctx context.Context) string {
	out, err := query(ctx, "getconf", "GNU_LIBC_VERSION").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func (t c) missing(ctx context.Context, sdk SDK) string {
	if runtime.GOOS != "linux" {
		return "the drivers in C need Linux"
	}
	if sdk.Version == t.packaged {
		return t.missingPackaged(ctx)
	}
	for _, tool := range []tool{t.cc(), t.cmake(), t.cargo()} {
		if _, _, err := tool.find(ctx); err != nil {
			return err.Error()
		}
	}
	if !t.compiles(ctx, "#include <openssl/ssl.h>") {
		return "OpenSSL's headers are missing; " + systemPackages{debian: "libssl-dev"}.String()
	}
	return ""
}

func (t c) missingPackaged(ctx context.Context) string {
	if _, _, err := t.cc().find(ctx); err != nil {
		return err.Error()
	}
	is, err := t.installed(ctx, "${source:Upstream-Version}")
	switch {
	case err != nil || is == "":
		return fmt.Sprintf("Debian's %s is missing; %s", t.debian, systemPackages{debian: t.debian})
	case is != t.packaged:
		return fmt.Sprintf("Debian's %s is %s here, and this driver is of %s; take Debian 12, in a container for instance", t.debian, is, t.packaged)
	}
	return ""
}

// installed answers a field of the Debian package that is installed.
func (t c) installed(ctx context.Context, field string) (string, error) {
	out, err := query(ctx, "dpkg-query", "--show", "--showformat="+field, t.debian).Output()
	if err != nil {
		return "", fmt.Errorf("ask for the version of %s: %w", t.debian, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (t c) compiles(ctx context.Context, source string) bool {
	path, _, err := t.cc().find(ctx)
	if err != nil {
		return false
	}
	cmd := query(ctx, path, "-fsyntax-only", "-x", "c", "-")
	cmd.Stdin = strings.NewReader(source + "\n")
	return cmd.Run() == nil
}

func (t c) make(ctx context.Context, b build) error {
	cc, _, err := t.cc().find(ctx)
	if err != nil {
		return err
	}
	provide := t.fromCrate
	if b.sdk.Version == t.packaged {
		provide = t.fromDebian
	}
	headers, err := provide(ctx, b, cc)
	if err != nil {
		return err
	}
	source := filepath.Join(b.temp, "driver")
	if err := b.copySources(source); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(source, "*.c"))
	if err != nil {
		return err
	}
	b.say("compiling the driver")
	argv := []string{cc, "-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-pthread", "-I", source}
	if headers != "" {
		argv = append(argv, "-I", headers)
	} else {
		argv = append(argv, `-DPACKAGED_AS="`+t.packaged+`"`)
	}
	argv = append(argv, files...)
	if t.linked {
		argv = append(argv, filepath.Join(b.dir, t.library), "-Wl,-rpath,$ORIGIN")
	}
	return b.run(ctx, source, nil, append(argv, "-ldl", "-o", filepath.Join(b.dir, "driver"))...)
}

// fromDebian copies the library that is installed, and writes down which
// package it is of. The compiler knows where the headers are.
func (t c) fromDebian(ctx context.Context, b build, cc string) (headers string, err error) {
	version, err := t.installed(ctx, "${Version}")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(b.dir, "debian"), []byte(t.debian+" "+version+"\n"), 0o644); err != nil {
		return "", err
	}
	out, err := query(ctx, cc, "-print-file-name="+t.library).Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for %s: %w", cc, t.library, err)
	}
	return "", copyFile(strings.TrimSpace(string(out)), filepath.Join(b.dir, t.library))
}

// fromCrate builds the library from the sources that are in a crate.
func (t c) fromCrate(ctx context.Context, b build, _ string) (headers string, err error) {
	crate, err := t.unpackCrate(ctx, b)
	if err != nil {
		return "", err
	}
	matches, err := fs.Glob(os.DirFS(crate), "*/CMakeLists.txt")
	if err != nil || len(matches) != 1 {
		return "", fmt.Errorf("find the sources of %s in %s: %d CMakeLists.txt: %w", b.sdk, crate, len(matches), err)
	}
	sources, made := filepath.Join(crate, filepath.Dir(matches[0])), filepath.Join(b.temp, "made")
	cmake, _, err := t.cmake().find(ctx)
	if err != nil {
		return "", err
	}
	b.say("building " + t.library)
	err = b.run(ctx, b.temp, nil, cmake, "-S", sources, "-B", made, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
		"-DCMAKE_POLICY_VERSION_MINIMUM=3.5", "-DPAHO_WITH_SSL=TRUE", "-DPAHO_BUILD_SHARED=TRUE", "-DPAHO_BUILD_STATIC=FALSE",
		"-DPAHO_ENABLE_TESTING=FALSE", "-DPAHO_BUILD_SAMPLES=FALSE", "-DPAHO_BUILD_DOCUMENTATION=FALSE")
	if err != nil {
		return "", err
	}
	if err := b.run(ctx, b.temp, nil, cmake, "--build", made, "--target", "paho-mqtt3as"); err != nil {
		return "", err
	}
	return filepath.Join(sources, "src"), copyFile(filepath.Join(made, "src", t.library), filepath.Join(b.dir, t.library))
}

func (t c) program(dir string, _ SDK) Program {
	return Program{Argv: []string{filepath.Join(dir, "driver"), filepath.Join(dir, t.library)}}
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
