package router

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
)

// routeProtocol marks our routes among those of a host: rtm_protocol of
// linux/rtnetlink.h, where 192 to 254 are nobody's.
const routeProtocol = 198

// Unroute shows exactly these peers as unreachable in a host's own routing.
// Peers are names of hosts, or Clients. Routes of somebody else stay.
func (r *Router) Unroute(_ context.Context, host string, peers []string) error {
	h, err := r.host(host)
	if err != nil {
		return err
	}
	want, err := r.routes(h, peers)
	if err != nil {
		return err
	}
	err = netns.In(h.NetNS(), func() error {
		have, err := ours()
		if err != nil {
			return err
		}
		for _, route := range have {
			if !slices.ContainsFunc(want, func(w netlink.Route) bool { return sameRoute(w, route) }) {
				if err := netlink.RouteDel(&route); err != nil {
					return fmt.Errorf("remove route %s: %w", route.Dst, err)
				}
			}
		}
		for _, route := range want {
			if slices.ContainsFunc(have, func(h netlink.Route) bool { return sameRoute(h, route) }) {
				continue
			}
			if err := netlink.RouteAdd(&route); err != nil {
				return fmt.Errorf("add route %s: %w", route.Dst, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("routes of %s: %w", host, err)
	}
	return nil
}

// routes are those that make peers unreachable. Clients are whatever has no
// better route: nodes and the witness get one each.
func (r *Router) routes(h Host, peers []string) ([]netlink.Route, error) {
	k, err := r.addresses()
	if err != nil {
		return nil, err
	}
	own, err := address(h)
	if err != nil {
		return nil, err
	}
	var cut []netip.Addr
	var out []netlink.Route
	for _, name := range peers {
		a, err := k.address(name)
		if err != nil {
			return nil, err
		}
		prefix := netip.PrefixFrom(a, 32)
		if name == Clients {
			prefix = everyHost()
		}
		cut = append(cut, a)
		out = append(out, netlink.Route{Dst: network(prefix), Type: unix.RTN_UNREACHABLE, Protocol: routeProtocol})
	}
	if !slices.Contains(peers, Clients) {
		return out, nil
	}
	for _, a := range k.servers {
		if a != own && !slices.Contains(cut, a) {
			out = append(out, netlink.Route{
				Dst: network(netip.PrefixFrom(a, 32)), Gw: net.IP(own.Prev().AsSlice()), Protocol: routeProtocol,
			})
		}
	}
	return out, nil
}

// everyHost is the network that all hosts of a star are in.
func everyHost() netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18}), 15) }

func network(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

func sameRoute(a, b netlink.Route) bool {
	return a.Dst.String() == b.Dst.String() && (a.Type == unix.RTN_UNREACHABLE) == (b.Type == unix.RTN_UNREACHABLE)
}

// ours are our routes in the namespace of the calling thread.
func ours() ([]netlink.Route, error) {
	list, err := netlink.RouteListFiltered(unix.AF_INET, &netlink.Route{Protocol: routeProtocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return list, nil
}

// Route asks the kernel of a host how it reaches another: reachable, or
// unreachable.
func (r *Router) Route(host, peer string) (answer string, err error) {
	h, err := r.host(host)
	if err != nil {
		return "", err
	}
	to, err := r.Address(peer)
	if err != nil {
		return "", err
	}
	err = netns.In(h.NetNS(), func() error {
		_, err := netlink.RouteGet(to.AsSlice())
		switch {
		case errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH):
			answer = "unreachable"
		case err != nil:
			return fmt.Errorf("ask %s for its route to %s: %w", host, peer, err)
		default:
			answer = "reachable"
		}
		return nil
	})
	return answer, err
}

// NoRoute is how many packets of a host's connections met no route, since it
// is there: OutNoRoutes of RFC 1213. A connection that cannot be begun is not
// counted by Linux where the route says unreachable, so probes are none of them.
func (r *Router) NoRoute(host string) (n uint64, err error) {
	h, err := r.host(host)
	if err != nil {
		return 0, err
	}
	err = netns.In(h.NetNS(), func() error {
		n, err = snmp("Ip:", "OutNoRoutes")
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("packets of %s without a route: %w", host, err)
	}
	return n, nil
}
