package faults

import (
	"slices"
	"strings"
)

// Imaged says why nodes that are made of an image cannot have a fault of the kind, "" if they can.
// Pods are such nodes on machines that are not ours.
func (k Kind) Imaged(pods bool) string {
	switch {
	case k.Arms == "disk" || slices.Contains([]string{"disk", "time", "resource"}, k.Family):
		return "nothing is mounted, loaded or limited beside a broker that is made of an image; use runtime process"
	case !pods || k.Family != "network":
		return ""
	case k.Cabled:
		return "the network between pods is not ours; use runtime process"
	}
	return ""
}

// AmongClients reports whether a fault is about the network between nodes and clients.
func (k Kind) AmongClients(target string, params map[string]any) bool {
	if k.Family != "network" {
		return false
	}
	if _, _, _, link := SplitLink(target); link {
		return slices.ContainsFunc(Sides(target), func(side string) bool { return strings.HasPrefix(side, "clients") })
	}
	for _, p := range k.Params {
		if with := params[p.Name]; p.Name == "with" {
			return with != "nodes" && (with != nil || p.Default != "nodes")
		}
	}
	return false
}
