//go:build !paho13

package pahomqtt

import (
	"net"
	"net/url"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// memory keeps messages in flight, in the order in which they were sent.
type memory = mqtt.OrderedMemoryStore

func newMemory() *memory { return mqtt.NewOrderedMemoryStore() }

// dialers have the SDK connect through the driver.
type dialers struct{}

func newDialers() *dialers { return nil }

func (*dialers) use(o *mqtt.ClientOptions, endpoints []string, open func(endpoint string) (net.Conn, error)) {
	for _, endpoint := range endpoints {
		o.AddBroker("tcp://" + endpoint)
	}
	o.SetCustomOpenConnectionFn(func(broker *url.URL, _ mqtt.ClientOptions) (net.Conn, error) {
		return open(broker.Host)
	})
}
