package router

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// known are the addresses of the star's hosts.
type known struct {
	all     map[string]netip.Addr
	servers []netip.Addr // nodes and the witness: all that is no client
}

// A way is one direction between two addresses; one that is not valid is any
// client.
type way struct{ from, to netip.Addr }

// A shown is a rule with addresses instead of names.
type shown struct {
	Rule
	ways    []way
	servers []netip.Addr
}

// resolve looks up every host of every rule, before anything is changed.
func resolve(rules []Rule, hosts known) ([]shown, error) {
	var out []shown
	for _, rule := range rules {
		s := shown{Rule: rule, servers: hosts.servers}
		if err := rule.check(); err != nil {
			return nil, err
		}
		for _, l := range rule.Links {
			ways, err := hosts.ways(l)
			if err != nil {
				return nil, fmt.Errorf("rule of %s: %w", rule.Fault, err)
			}
			for _, w := range ways {
				if !slices.Contains(s.ways, w) {
					s.ways = append(s.ways, w)
				}
			}
		}
		if len(s.ways) == 0 {
			return nil, fmt.Errorf("rule of %s: it is about no link", rule.Fault)
		}
		out = append(out, s)
	}
	return out, nil
}

func (rule Rule) check() error {
	switch {
	case rule.Fault == "":
		return fmt.Errorf("rule %s: it belongs to no fault", rule.Do)
	case !slices.Contains([]Action{Drop, Reject, Lose, Pass, Queue}, rule.Do):
		return fmt.Errorf("rule of %s: no action %q; valid: drop, reject, lose, pass, queue", rule.Fault, rule.Do)
	case rule.Do == Lose && !(rule.Percent > 0 && rule.Percent <= 100):
		return fmt.Errorf("rule of %s: lose %g percent; valid: above 0, up to 100", rule.Fault, rule.Percent)
	}
	return nil
}

// ways are all of a link from one address to another.
func (k known) ways(l Link) (out []way, err error) {
	for _, from := range l.From {
		for _, to := range l.To {
			var w way
			if w.from, err = k.address(from); err != nil {
				return nil, err
			}
			if w.to, err = k.address(to); err != nil {
				return nil, err
			}
			if w.from != w.to || !w.from.IsValid() {
				out = append(out, w)
			}
		}
	}
	return out, nil
}

func (k known) address(host string) (netip.Addr, error) {
	if host == Clients {
		return netip.Addr{}, nil
	}
	a, ok := k.all[host]
	if !ok {
		return a, fmt.Errorf("no host %q; there are %s", host, strings.Join(slices.Sorted(maps.Keys(k.all)), ", "))
	}
	return a, nil
}
