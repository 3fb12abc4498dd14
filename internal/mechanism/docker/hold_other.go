//go:build !linux

package docker

import (
	"net"
	"os"
)

func listenIn(string) (*net.UnixListener, error) { return nil, noNamespaces() }

func receive(*net.UnixConn) (*os.File, error) { return nil, noNamespaces() }

// HoldMain is Linux's: elsewhere there is no network namespace to hand over.
func HoldMain([]string) error { return noNamespaces() }

func noNamespaces() error {
	return unsupported("containers join a network of namespaces, which only Linux has; use runtime process here")
}
