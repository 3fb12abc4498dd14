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
	if f.Foreign {
		return fmt.Errorf("brokers that somebody else runs are known by their MQTT listeners, and %s has others; hold such a listener against its statements by `rmq-mcp conformance --protocol %s --endpoint HOST:PORT`, or have us start the same broker: --flavor %s",
			protocol, protocol, strings.Join(FlavorNames(func(f Flavor) bool { return slices.Contains(f.Protocols, protocol) }), " or "))
	}
	return fmt.Errorf("%s does not speak %s, only %s; choose another flavor or protocol", f.Title, protocol, strings.Join(f.Protocols, ", "))
}
