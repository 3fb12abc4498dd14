package cluster

import (
	"testing"
)

func TestLoopbackPorts(t *testing.T) {
	one, two := NewLoopback(""), NewLoopback("")
	defer one.Close()
	defer two.Close()
	seen := map[int]bool{}
	for _, network := range []Network{one, two} {
		for _, name := range nodeNames(5) {
			host, err := network.Host(name)
			if err != nil {
				t.Fatal(err)
			}
			for service := range robustmqPorts() {
				port, err := host.Port(service, 1883)
				if err != nil {
					t.Fatal(err)
				}
				if again, _ := host.Port(service, 1883); again != port {
					t.Errorf("%s of %s: %d, then %d", service, name, port, again)
				}
				if seen[port] || port >= 32768 {
					t.Errorf("%s of %s: port %d is taken or an outgoing one", service, name, port)
				}
				seen[port] = true
			}
		}
	}
}
