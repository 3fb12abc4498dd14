package cluster

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
)

// Hosts have a /30 each of 198.18.0.0/15, the range that RFC 2544 sets aside
// for tests: 198.18.n.0/30 for the first 255, 198.19.n.0/30 after.
const maxHosts = 510

// linkBound is how long the kernel gets to bring a cable up.
const linkBound = time.Minute

// A star is a Network of namespaces: every host has one, the process that made
// the star is the router between them.
type star struct {
	mu    sync.Mutex
	links *netlink.Handle // of the router's namespace
	hosts map[string]*starHost
}

// NewStar makes the calling process the router of a star of network
// namespaces. It must be called inside a network namespace made for the
// purpose, with nothing in it but lo, and is refused elsewhere: the host's own
// network is never touched. On Linux the hosts have three more methods, NetNS,
// Link and Router, for what attaches to a namespace or disturbs a link.
func NewStar() (Network, error) {
	if err := ownNamespace(); err != nil {
		return nil, err
	}
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink: %w", err)
	}
	if err := setUp(links, "lo"); err != nil {
		links.Close()
		return nil, err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		links.Close()
		return nil, fmt.Errorf("let the router forward: %w", err)
	}
	return &star{links: links, hosts: map[string]*starHost{}}, nil
}

func (s *star) Isolation() string { return "namespaces" }

func (s *star) Host(name string) (Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.hosts[name]; ok {
		return h, nil
	}
	ns, err := netns.New()
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	return s.add(name, ns)
}

// Adopt makes a host of a network namespace that was made elsewhere and has
// nothing in it but lo, such as a container's. The file becomes the star's.
func (s *star) Adopt(name string, ns *os.File) (Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.hosts[name]; ok {
		ns.Close()
		return nil, fmt.Errorf("host %s: there is one already", name)
	}
	return s.add(name, ns)
}

func (s *star) add(name string, ns *os.File) (Host, error) {
	n := len(s.hosts) + 1
	if n > maxHosts {
		ns.Close()
		return nil, fmt.Errorf("host %s: a star has at most %d hosts", name, maxHosts)
	}
	h := &starHost{name: name, link: linkName(name), ns: ns}
	h.router, h.addr = addresses(n)
	if err := s.attach(h); err != nil {
		s.detach(h)
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	s.hosts[name] = h
	return h, nil
}

// Hosts are all hosts so far, by name.
func (s *star) Hosts() []Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Host
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		out = append(out, s.hosts[name])
	}
	return out
}

// Close removes every link and lets go of every namespace. Processes that
// still run in one are their starter's to end.
func (s *star) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, h := range s.hosts {
		errs = append(errs, s.detach(h))
		delete(s.hosts, name)
	}
	s.links.Close()
	return errors.Join(errs...)
}

// attach lays the cable between the router and a new host, and sets up both
// ends.
func (s *star) attach(h *starHost) error {
	cable := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: h.link},
		PeerName:      "eth0",
		PeerNamespace: netlink.NsFd(h.ns.Fd()),
	}
	if err := s.links.LinkAdd(cable); err != nil {
		return fmt.Errorf("add veth %s: %w", h.link, err)
	}
	if err := setAddress(s.links, h.link, h.router); err != nil {
		return err
	}
	err := netns.In(h.ns, func() error {
		links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return fmt.Errorf("open netlink: %w", err)
		}
		defer links.Close()
		if err := setUp(links, "lo"); err != nil {
			return err
		}
		if err := setAddress(links, "eth0", h.addr); err != nil {
			return err
		}
		if err := links.RouteAdd(&netlink.Route{Gw: h.router}); err != nil {
			return fmt.Errorf("add default route: %w", err)
		}
		return awaitUp(links, "eth0")
	})
	if err != nil {
		return err
	}
	return awaitUp(s.links, h.link)
}

// awaitUp waits until an interface forwards. The kernel brings its end of a new
// cable up in its own time, and drops what is sent until then: the first thing
// to be lost would be the question for an address, asked again a second later.
func awaitUp(links *netlink.Handle, name string) error {
	for deadline := time.Now().Add(linkBound); ; time.Sleep(time.Millisecond) {
		link, err := links.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		if link.Attrs().OperState == netlink.OperUp {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is %s %v after it was brought up", name, link.Attrs().OperState, linkBound)
		}
	}
}

// detach removes the router's end, and with it the host's.
func (s *star) detach(h *starHost) error {
	defer h.ns.Close()
	link, err := s.links.LinkByName(h.link)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find veth %s: %w", h.link, err)
	}
	if err := s.links.LinkDel(link); err != nil {
		return fmt.Errorf("remove veth %s: %w", h.link, err)
	}
	return nil
}

// A starHost is a network namespace with one interface, eth0.
type starHost struct {
	name, link   string
	addr, router net.IP
	ns           *os.File
}

func (h *starHost) Name() string    { return h.name }
func (h *starHost) Address() string { return h.addr.String() }

// Port answers want: nobody else listens at this host's address.
func (h *starHost) Port(_ string, want int) (int, error) { return want, nil }

// NetNS is the host's network namespace, for what is started elsewhere and
// joins it, such as a container. It stays the star's.
func (h *starHost) NetNS() *os.File { return h.ns }

// Link is the interface in the router's namespace at which everything from and
// to this host passes. It is the host's name where that fits (15 bytes).
func (h *starHost) Link() string { return h.link }

// Start starts a command in the host's namespace. A parent-death signal is
// taken off it: it would come when the thread that started it goes, at once.
func (h *starHost) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Pdeathsig != 0 {
		attr := *cmd.SysProcAttr
		attr.Pdeathsig = 0
		cmd.SysProcAttr = &attr
	}
	if err := netns.In(h.ns, cmd.Start); err != nil {
		return fmt.Errorf("start %s on %s: %w", cmd.Path, h.name, err)
	}
	return nil
}

// setAddress gives an interface its /30 address and brings it up.
func setAddress(links *netlink.Handle, name string, ip net.IP) error {
	link, err := links.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(30, 32)}}
	if err := links.AddrAdd(link, addr); err != nil {
		return fmt.Errorf("give %s address %s: %w", name, ip, err)
	}
	return setUp(links, name)
}

func setUp(links *netlink.Handle, name string) error {
	link, err := links.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	if err := links.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring %s up: %w", name, err)
	}
	return nil
}

// addresses of the n-th link, from 1: the router's end and the host's.
func addresses(n int) (router, host net.IP) {
	net18, third := byte(18), n
	if n > 255 {
		net18, third = 19, n-255
	}
	return net.IPv4(198, net18, byte(third), 1).To4(), net.IPv4(198, net18, byte(third), 2).To4()
}

// linkName is the host's name, or where that is too long for an interface, its
// beginning and a hash of it.
func linkName(host string) string {
	if len(host) < unix.IFNAMSIZ {
		return host
	}
	sum := fnv.New32a()
	sum.Write([]byte(host))
	return fmt.Sprintf("%.8s-%06x", host, sum.Sum32()&0xffffff)
}
