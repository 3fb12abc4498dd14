//go:build paho13

package pahomqtt

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"sync"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"golang.org/x/net/proxy"
)

// dialers have the SDK connect through the driver. Without
// SetCustomOpenConnectionFn the way in is the proxy that the environment names:
// it is asked for an address that stands for one endpoint of one session.
type dialers struct {
	mu   sync.Mutex
	open map[string]func() (net.Conn, error)
}

func newDialers() *dialers {
	d := &dialers{open: map[string]func() (net.Conn, error){}}
	proxy.RegisterDialerType("driver", func(*url.URL, proxy.Dialer) (proxy.Dialer, error) { return d, nil })
	for _, name := range []string{"all_proxy", "ALL_PROXY"} {
		os.Setenv(name, "driver://")
	}
	for _, name := range []string{"no_proxy", "NO_PROXY"} {
		os.Unsetenv(name)
	}
	return d
}

func (d *dialers) use(o *mqtt.ClientOptions, endpoints []string, open func(endpoint string) (net.Conn, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, endpoint := range endpoints {
		address := fmt.Sprintf("endpoint-%d:1", len(d.open))
		d.open[address] = func() (net.Conn, error) { return open(endpoint) }
		o.AddBroker("tcp://" + address)
	}
}

// Dial is what the SDK calls.
func (d *dialers) Dial(_, address string) (net.Conn, error) {
	d.mu.Lock()
	open := d.open[address]
	d.mu.Unlock()
	if open == nil {
		return nil, fmt.Errorf("no endpoint is behind %s", address)
	}
	return open()
}
