package router

import "os"

// A Host is one of the star's: a network namespace at the end of a cable to
// the router.
type Host interface {
	Name() string
	Address() string // IPv4
	NetNS() *os.File // stays the star's
	Link() string    // the router's end of the cable
}

// Options say between whom the router is.
type Options struct {
	Hosts   func() []Host                   // all there are now
	AddHost func(name string) (Host, error) // makes one
	Client  func(host string) bool          // whether it is one of Clients
}
