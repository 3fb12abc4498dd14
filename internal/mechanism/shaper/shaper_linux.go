package shaper

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// root is the handle of everything that is ours: 0x7e57:.
const root = 0x7e57

// A Shaper shows rules at the interfaces of the network namespace that it was
// made in.
type Shaper struct {
	probePort uint16
	links     *netlink.Handle

	mu    sync.Mutex
	rules []Rule
	torn  map[string]bool // interfaces that could not be rendered: what is there is not known
	lacks map[string]string
}

// New opens the shaper. Packets of the probe port are counted apart.
func New(probePort uint16) (*Shaper, error) {
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink: %w", err)
	}
	return &Shaper{probePort: probePort, links: links, torn: map[string]bool{}, lacks: map[string]string{}}, nil
}

// Close takes all that is ours off.
func (s *Shaper) Close() error {
	err := s.Render(nil)
	s.links.Close()
	return err
}

// Rules are the rules that are in place.
func (s *Shaper) Rules() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rules)
}

// Missing tries a discipline, htb or netem, on lo, where it is taken off at
// once, and says why the kernel cannot, "" where it can.
func (s *Shaper) Missing(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, known := s.lacks[kind]
	if !known {
		if err := s.try(kind); err != nil {
			text = fmt.Sprintf("this kernel has no %s (sch_%s): %v", kind, kind, err)
		}
		s.lacks[kind] = text
	}
	return text
}

func (s *Shaper) try(kind string) error {
	lo, err := s.links.LinkByName("lo")
	if err != nil {
		return err
	}
	attrs := netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(root, 0), Parent: netlink.HANDLE_ROOT}
	var q netlink.Qdisc = netlink.NewHtb(attrs)
	if kind == "netem" {
		q = netlink.NewNetem(attrs, netlink.NetemQdiscAttrs{})
	}
	if err := s.links.QdiscAdd(q); err != nil {
		return err
	}
	return s.links.QdiscDel(q)
}

// Render shows exactly these rules. An interface whose rules are the same stays
// as it is.
func (s *Shaper) Render(rules []Rule) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := apart(rules); err != nil {
		return err
	}
	var errs []error
	for _, name := range s.touched(rules) {
		was, is := of(name, s.rules), of(name, rules)
		if slices.EqualFunc(was, is, same) && !s.torn[name] {
			continue
		}
		err := s.show(name, is)
		s.torn[name] = err != nil
		if err != nil {
			errs = append(errs, fmt.Errorf("shape %s: %w", name, err))
			rules = slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Interface == name })
		}
	}
	s.rules = slices.Clone(rules)
	return errors.Join(errs...)
}

// touched are the interfaces of what is wanted and of what is or may be there.
func (s *Shaper) touched(rules []Rule) []string {
	out := interfaces(append(slices.Clone(rules), s.rules...))
	for name, torn := range s.torn {
		if torn && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func same(a, b Rule) bool {
	return a.Fault == b.Fault && slices.Equal(a.From, b.From) && a.Except == b.Except && a.RateBytes == b.RateBytes && a.Netem == b.Netem
}

func interfaces(rules []Rule) (out []string) {
	for _, r := range rules {
		if !slices.Contains(out, r.Interface) {
			out = append(out, r.Interface)
		}
	}
	return out
}

func of(name string, rules []Rule) (out []Rule) {
	for _, r := range rules {
		if r.Interface == name {
			out = append(out, r)
		}
	}
	return out
}

// show renders one interface from scratch.
func (s *Shaper) show(name string, rules []Rule) error {
	link, err := s.links.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) && len(rules) == 0 {
		return nil // it went with its host, and what was on it
	}
	if err != nil {
		return err
	}
	index := link.Attrs().Index
	if err := s.clear(index, len(rules) > 0); err != nil || len(rules) == 0 {
		return err
	}
	htb := netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(root, 0), Parent: netlink.HANDLE_ROOT})
	if err := s.links.QdiscAdd(htb); err != nil {
		return fmt.Errorf("add htb: %w", err)
	}
	for i, r := range rules {
		if err := s.class(index, i, r); err != nil {
			return errors.Join(err, s.clear(index, false))
		}
	}
	return nil
}

// clear takes our root off, if it is there. Where the place is wanted it refuses
// to go on if somebody else's is there.
func (s *Shaper) clear(index int, wanted bool) error {
	all, err := s.links.QdiscList(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: index}})
	if err != nil {
		return fmt.Errorf("list disciplines: %w", err)
	}
	for _, q := range all {
		a := q.Attrs()
		switch {
		case a.Parent != netlink.HANDLE_ROOT || a.Handle == 0: // a child, or the kernel's own
		case a.Handle == netlink.MakeHandle(root, 0):
			if err := s.links.QdiscDel(q); err != nil {
				return fmt.Errorf("take off %s: %w", q.Type(), err)
			}
		case wanted && q.Type() != "noqueue":
			return fmt.Errorf("%s %x: it is not from rmq-mcp; remove it", q.Type(), a.Handle>>16)
		}
	}
	return nil
}

// Stats are of each rule of a fault.
func (s *Shaper) Stats(fault string) ([]Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Stats
	for _, name := range interfaces(s.rules) {
		list, err := s.stats(name, fault)
		if err != nil {
			return nil, fmt.Errorf("read the classes of %s: %w", name, err)
		}
		all = append(all, list...)
	}
	return all, nil
}

func (s *Shaper) stats(name, fault string) (list []Stats, err error) {
	link, err := s.links.LinkByName(name)
	if err != nil {
		return nil, err
	}
	classes, err := s.links.ClassList(link, 0)
	if err != nil {
		return nil, err
	}
	for i, r := range of(name, s.rules) {
		if r.Fault != fault {
			continue
		}
		one := Stats{Interface: name, RateBytes: r.RateBytes}
		for _, c := range classes {
			st := c.Attrs().Statistics
			if st == nil {
				continue
			}
			switch c.Attrs().Handle {
			case netlink.MakeHandle(root, class(i, false)):
				one.Packets, one.Bytes = uint64(st.Basic.Packets), st.Basic.Bytes
				one.Dropped, one.Overlimits = uint64(st.Queue.Drops), uint64(st.Queue.Overlimits)
			case netlink.MakeHandle(root, class(i, true)):
				one.Probes = uint64(st.Basic.Packets)
			}
		}
		list = append(list, one)
	}
	return list, nil
}
