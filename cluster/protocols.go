package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Shares returns nil if a flavor has shared subscriptions.
func Shares(flavor string) error {
	if why := FlavorNamed(flavor).NoSharing; why != "" {
		return errors.New(why)
	}
	return nil
}

// Speaks returns nil if a flavor's nodes speak a protocol.
func Speaks(flavor, protocol string) error {
	f := FlavorNamed(flavor)
	if slices.Contains(f.Protocols, protocol) {
		return nil
	}
	return fmt.Errorf("%s does not speak %s, only %s; choose another flavor or protocol", f.Title, protocol, strings.Join(f.Protocols, ", "))
}
