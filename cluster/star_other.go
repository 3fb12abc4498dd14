//go:build !linux

package cluster

import "errors"

// NewStar makes a network of namespaces, which only Linux has. Elsewhere
// everything is on loopback.
func NewStar() (Network, error) {
	return nil, errors.New("network namespaces exist on Linux only; nodes run on loopback here")
}
