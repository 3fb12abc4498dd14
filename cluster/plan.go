package cluster

import (
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strconv"
)

// newNode makes a node on a host: its directory and log, its listeners. The
// service mqtt is where clients connect, http where the broker tells of
// itself.
func newNode(opts Options, host Host, ports map[string]int) (*Node, error) {
	dir, err := makeDir(opts, host.Name())
	if err != nil {
		return nil, err
	}
	log, err := absolute(opts.Logs, host.Name()+".log")
	if err != nil {
		return nil, err
	}
	n := &Node{name: host.Name(), like: Config{Flavor: opts.Config.Flavor, Document: opts.Config.Document}, host: host, ports: ports, dir: dir, log: log, launcher: processes{}}
	n.mqtt = net.JoinHostPort(host.Address(), strconv.Itoa(ports["mqtt"]))
	if port, ok := ports["http"]; ok {
		n.http = net.JoinHostPort(host.Address(), strconv.Itoa(port))
	}
	return n, nil
}

// bind is the address at which the listeners of a host are, as its own processes name it.
func bind(host Host) string {
	if h, ok := host.(interface{ Bind() string }); ok {
		return h.Bind()
	}
	return host.Address()
}

// portsOf asks a host for its ports, in the order of the services' names.
func portsOf(host Host, want map[string]int) (map[string]int, error) {
	var services []string
	for service := range want {
		services = append(services, service)
	}
	slices.Sort(services)
	ports := map[string]int{}
	for _, service := range services {
		port, err := host.Port(service, want[service])
		if err != nil {
			return nil, fmt.Errorf("port for %s of %s: %w", service, host.Name(), err)
		}
		ports[service] = port
	}
	return ports, nil
}

// differs notes, as "vendor's → ours", each key whose value is not the
// vendor's.
func differs(into map[string]string, ours, vendors map[string]any) {
	for key, vendor := range vendors {
		if our, ok := ours[key]; ok && !reflect.DeepEqual(our, vendor) && fmt.Sprint(our) != fmt.Sprint(vendor) {
			into[key] = fmt.Sprintf("%v → %v", vendor, our)
		}
	}
}

// merged is a configuration with settings on top of it.
func merged(config, settings map[string]any) map[string]any {
	all := maps.Clone(config)
	maps.Copy(all, settings)
	return all
}
