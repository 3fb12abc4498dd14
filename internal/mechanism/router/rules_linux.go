package router

import (
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// Counters of a fault, by name. All rules of one fault share them.
func matchedCounter(fault string) string { return fault + ".matched" }
func hitCounter(fault string) string     { return fault + ".hit" }
func probeCounter(fault string) string   { return fault + ".probes" }
func serverCounter(fault string, a netip.Addr) string {
	return fault + "." + a.String()
}

// A ruleWriter puts rules into the transaction of a table:
//
//	chain first            for each direction: jump to the rule's own chain
//	chain f1-0             probes to f1-0-probes; the rest, or only its ports, to f1-0-rest
//	chain f1-0-rest        count, decide, the hit ones to f1-0-hit
//	chain f1-0-hit         count, by server too, do it
//	chain f1-0-probes      decide, the hit ones to f1-0-probes-hit
//	chain f1-0-probes-hit  count apart, do it
//
// A verdict of a queue's owner ends the hook it was asked in. So every rule that
// queues hangs on a hook of its own, after the rules that drop. Links that are both
// cut and slow are cut, and two kinds of slowness both apply.
type ruleWriter struct {
	*table
	chains   []*nftables.Chain
	counters map[string]bool
}

// count makes sure of the counters of a rule's fault.
func (p *ruleWriter) count(rule shown) {
	names := []string{matchedCounter(rule.Fault), hitCounter(rule.Fault), probeCounter(rule.Fault)}
	for _, a := range rule.servers {
		names = append(names, serverCounter(rule.Fault, a))
	}
	for _, name := range names {
		if !p.counters[name] && !p.table.counters[name] {
			p.conn.AddObj(p.counter(name))
		}
		p.counters[name] = true
	}
}

func (p *ruleWriter) write(rules []shown) {
	first := p.chainAtHook("first", 0)
	for i, rule := range rules {
		from := first
		name := fmt.Sprintf("%s-%d", rule.Fault, i)
		if rule.Do == Queue {
			from = p.chainAtHook(name+"-first", nftables.ChainPriority(10+i))
		}
		own := p.rule(name, rule)
		for _, w := range rule.ways {
			p.add(from, append(matches(w, rule.servers), jump(own.Name))...)
		}
	}
}

// rule makes the chains of one rule, and answers the one to jump to.
func (p *ruleWriter) rule(name string, rule shown) *nftables.Chain {
	own, rest, probes, hit := p.chain(name), p.chain(name+"-rest"), p.chain(name+"-probes"), p.chain(name+"-hit")
	for _, end := range []uint32{sourcePort, destinationPort} {
		p.add(own, append(port(end, ProbePort), goTo(probes.Name))...)
	}
	for _, n := range rule.Ports {
		for _, end := range []uint32{sourcePort, destinationPort} {
			p.add(own, append(port(end, n), goTo(rest.Name))...)
		}
	}
	if len(rule.Ports) == 0 {
		p.add(own, goTo(rest.Name))
	}
	p.add(rest, count(matchedCounter(rule.Fault)))
	p.add(rest, append(decide(rule), goTo(hit.Name))...)
	for _, a := range rule.servers {
		for _, at := range []uint32{sourceAddress, destinationAddress} {
			p.add(hit, append(end(at, a, nil), count(serverCounter(rule.Fault, a)))...)
		}
	}
	p.do(hit, rule, hitCounter(rule.Fault))
	lost := p.chain(name + "-probes-hit")
	p.add(probes, append(decide(rule), goTo(lost.Name))...)
	p.do(lost, rule, probeCounter(rule.Fault))
	return own
}

// decide matches the packets that a rule hits.
func decide(rule shown) []expr.Any {
	if rule.Do == Lose {
		return chance(rule.Percent)
	}
	return nil
}

// do makes the rules that count a packet and do it.
func (p *ruleWriter) do(in *nftables.Chain, rule shown, counter string) {
	counted := count(counter)
	switch rule.Do {
	case Drop, Lose:
		p.add(in, counted, verdict(expr.VerdictDrop))
	case Reject:
		p.add(in, counted)
		for _, e := range rejections() {
			p.add(in, e...)
		}
	case Pass:
		p.add(in, counted)
	case Queue:
		p.add(in, counted, p.toQueue(rule.Queue))
	}
}

// toQueue is the expression that hands a packet to a queue.
func (p *ruleWriter) toQueue(n uint16) expr.Any {
	if p.native {
		return nativeQueue(n)
	}
	return targetQueue(n)
}

func (p *ruleWriter) chainAtHook(name string, priority nftables.ChainPriority) *nftables.Chain {
	accept := nftables.ChainPolicyAccept
	c := p.made(&nftables.Chain{
		Table: p.nft, Name: name, Type: nftables.ChainTypeFilter,
		Hooknum: p.table.hook, Priority: &priority, Policy: &accept,
	})
	if *p.table.hook == *nftables.ChainHookInput { // copies of packets come from the host itself
		p.add(c, append(loopback(), verdict(expr.VerdictAccept))...)
	}
	return c
}

func (p *ruleWriter) chain(name string) *nftables.Chain {
	return p.made(&nftables.Chain{Table: p.nft, Name: name})
}

func (p *ruleWriter) made(c *nftables.Chain) *nftables.Chain {
	p.conn.AddChain(c)
	p.chains = append(p.chains, c)
	return c
}

func (p *ruleWriter) add(to *nftables.Chain, exprs ...expr.Any) {
	p.conn.AddRule(&nftables.Rule{Table: p.nft, Chain: to, Exprs: exprs})
}

// Offsets of the addresses in an IPv4 header, RFC 791 3.1.
const (
	sourceAddress      = 12
	destinationAddress = 16
)

// matches are what a packet on its way must show.
func matches(w way, servers []netip.Addr) []expr.Any {
	out := end(sourceAddress, w.from, servers)
	return append(out, end(destinationAddress, w.to, servers)...)
}

// end matches one address, or all that are none of the servers'.
func end(offset uint32, a netip.Addr, servers []netip.Addr) []expr.Any {
	out := []expr.Any{&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: 4}}
	if a.IsValid() {
		return append(out, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: a.AsSlice()})
	}
	for _, s := range servers {
		out = append(out, &expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: s.AsSlice()})
	}
	return out
}
