package router

import (
	"net/netip"
	"slices"
)

// Ends are where the packets of some links leave the router, each cable once.
// Clients at the far end are those that there are now.
func (r *Router) Ends(links []Link) ([]End, error) {
	k, err := r.addresses()
	if err != nil {
		return nil, err
	}
	if _, err := resolve([]Rule{{Fault: "ends", Do: Drop, Links: links}}, k); err != nil {
		return nil, err
	}
	var out []End
	for _, h := range r.opt.Hosts() {
		e := End{Interface: h.Link()}
		var clients bool
		for _, l := range links {
			if !r.among(l.To, h.Name()) {
				continue
			}
			clients = clients || slices.Contains(l.From, Clients)
			for _, name := range l.From {
				if name != Clients && name != h.Name() {
					e.From = append(e.From, k.all[name])
				}
			}
		}
		if clients {
			named := e.From
			e.Except = true
			e.From = slices.DeleteFunc(slices.Clone(k.servers), func(a netip.Addr) bool { return slices.Contains(named, a) })
		}
		if e.Except || len(e.From) > 0 {
			out = append(out, e)
		}
	}
	return out, nil
}
