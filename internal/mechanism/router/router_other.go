//go:build !linux

package router

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// A Router needs network namespaces, which only Linux has.
type Router struct{}

var errLinux = fmt.Errorf("%w: network namespaces exist on Linux only", errors.ErrUnsupported)

func openAgent(netip.Addr) (interface{ close() }, error) { return nil, errLinux }

// New answers that there is none.
func New(Options) (*Router, error) { return nil, errLinux }

// Close does nothing.
func (*Router) Close() error { return nil }

// Missing says what is missing.
func (*Router) Missing(Action) string { return errLinux.Error() }

// Render is unsupported.
func (*Router) Render(context.Context, []Rule) error { return errLinux }

// Rules are none.
func (*Router) Rules() []Rule { return nil }

// Hits is unsupported.
func (*Router) Hits(string) (Hits, error) { return Hits{}, errLinux }

// Disturbed is false.
func (*Router) Disturbed(string, string, string) bool { return false }

// Queue is unsupported.
func (*Router) Queue() (uint16, error) { return 0, errLinux }

// Interface is unsupported.
func (*Router) Interface(string) (string, error) { return "", errLinux }

// Client is unsupported.
func (*Router) Client() (string, error) { return "", errLinux }

// Ping is unsupported.
func (*Router) Ping(context.Context, Ping) (Pings, error) { return Pings{}, errLinux }

// Dial is unsupported.
func (*Router) Dial(context.Context, string, string, int) (time.Duration, error) {
	return 0, errLinux
}

// Unroute is unsupported.
func (*Router) Unroute(context.Context, string, []string) error { return errLinux }

// Route is unsupported.
func (*Router) Route(string, string) (string, error) { return "", errLinux }

// NoRoute is unsupported.
func (*Router) NoRoute(string) (uint64, error) { return 0, errLinux }

// Ends is unsupported.
func (*Router) Ends([]Link) ([]End, error) { return nil, errLinux }

// ChecksumErrors is unsupported.
func (*Router) ChecksumErrors(string) (uint64, error) { return 0, errLinux }

// Sockets is unsupported.
func (*Router) Sockets([]Link) ([]Socket, error) { return nil, errLinux }

// Reset is unsupported.
func (*Router) Reset([]Socket) ([]Socket, error) { return nil, errLinux }

// Address is unsupported.
func (*Router) Address(string) (netip.Addr, error) { return netip.Addr{}, errLinux }
