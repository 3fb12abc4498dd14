// Package clients runs client SDKs. Each SDK has a driver, a small program in
// the SDK's own language that speaks the driver contract (package contract).
package clients

import (
	"context"
	"io/fs"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// A Library is a client library, in all versions of it that have a driver.
type Library struct {
	Lang       string    // go, python, rust, java, js, c
	Package    string    // by its name in the language's registry: paho-mqtt
	Protocols  []string  // that it speaks: mqtt3, mqtt5, mq9
	Transports []string  // that its driver can use, besides tcp: tls, ws, wss
	Wills      bool      // its driver can leave a will
	Dedupes    bool      // it removes QoS 2 duplicates by packet id itself
	Cannot     []string  // what it cannot show or do; CONTRACT.md lists the words
	Needs      string    // the least version of its language, compiler or interpreter: 3.10; "" is any that the toolchain takes
	Versions   []Version // newest first: the first is meant where none is asked for
	Source     string    // folder of its driver's sources, below drivers/
	Shared     string    // folder of the sources that its driver shares with others, below drivers/; "" for none

	build toolchain
}

// A Version of a library, and how it differs from the library as a whole.
type Version struct {
	Version    string
	Protocols  []string // where it speaks fewer
	Transports []string // where it has fewer
	Cannot     []string // besides the library's
	Needs      string   // where it needs another version of its language
	Copies     bool     // it does not dedupe, though the library does
	Builtin    bool     // its driver is in this binary
}

// Libraries is the catalogue, one file a language.
func Libraries() []Library {
	return slices.Concat(goLibraries(), pythonLibraries(), cLibraries(), javaLibraries(), rustLibraries(), jsLibraries())
}

// SDKs returns all versions of all libraries. The first one of a language and
// protocol is used if no version is asked for.
func SDKs() (all []SDK) {
	for _, l := range Libraries() {
		for _, v := range l.Versions {
			all = append(all, l.sdk(v))
		}
	}
	return all
}

// everyTransport is what most libraries can use, besides tcp.
func everyTransport() []string { return []string{contract.TLS, contract.WS, contract.WSS} }

func (l Library) sdk(v Version) SDK {
	sdk := SDK{
		Lang: l.Lang, Package: l.Package, Version: v.Version, Protocols: l.Protocols, Transports: l.Transports,
		Builtin: v.Builtin, Wills: l.Wills, Dedupes: l.Dedupes && !v.Copies, Cannot: slices.Concat(l.Cannot, v.Cannot), Needs: l.Needs,
	}
	if v.Protocols != nil {
		sdk.Protocols = v.Protocols
	}
	if v.Transports != nil {
		sdk.Transports = v.Transports
	}
	if v.Needs != "" {
		sdk.Needs = v.Needs
	}
	return sdk
}

// A toolchain makes drivers out of their sources, in the programming language
// of their SDKs.
type toolchain interface {
	// identity is what of this machine a made driver is for and runs with: the
	// interpreter, the architecture. With another one it is made anew. It is
	// asked at every start of a driver, also where what only make needs is gone.
	identity(ctx context.Context) string
	// missing returns the tools that this machine lacks to make the driver, with the
	// line to install them, or "" if nothing is missing. It is asked before make.
	missing(ctx context.Context, sdk SDK) string
	// make makes a driver in the folder b.dir, complete: from then on it starts
	// without a network. The folder gets another name afterwards.
	make(ctx context.Context, b build) error
	// program starts what was made in dir.
	program(dir string, sdk SDK) Program
}

// A build is one driver being made.
type build struct {
	sdk       SDK
	dir       string // where to; empty
	temp      string // for what is only needed meanwhile; empty, removed afterwards, TMPDIR of all that run starts
	source    fs.FS  // the driver's sources: Library.Source, with its locks/
	shared    fs.FS  // Library.Shared; nil for none
	lock      []byte // locks/VERSION: what may be downloaded, with exact hashes, in the form of the language's package manager
	downloads string // the package manager's own cache, shared by all builds of the language; below our cache
	say       func(string)
}
