package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mochi-mqtt/server/v2/packets"
)

// Matches is the reference: whether a topic matches a filter, by section 4.7 of
// either version. The filter is valid and not shared.
func Matches(filter, topic string) bool {
	f, t := strings.Split(filter, "/"), strings.Split(topic, "/")
	if strings.HasPrefix(topic, "$") && (f[0] == "+" || f[0] == "#") {
		return false
	}
	for i, level := range f {
		if level == "#" {
			return true // also where nothing follows: sport/# matches sport
		}
		if i == len(t) || level != "+" && level != t[i] {
			return false
		}
	}
	return len(f) == len(t)
}

// matching is what a filter matches, held against the reference.
func matching() []entry {
	return []entry{
		{"filter/multi-level", "§4.7.1.2", "§4.7.1.2", must, "# matches its parent and everything below", matchesLike([]string{"a/#", "a/b/#", "#", "/#", "a//#"}, topics())},
		{"filter/single-level", "§4.7.1.3", "§4.7.1.3", must, "+ matches one level, an empty one too", matchesLike([]string{"+", "a/+", "+/b", "+/+", "a/+/c", "/+", "+/+/+", "a/+/"}, topics())},
		{"filter/both-wildcards", "§4.7.1.3", "§4.7.1.3", must, "+ and # in one filter match as each does", matchesLike([]string{"+/#", "a/+/#", "+/b/#", "/+/#", "+/+/#"}, topics())},
		{"filter/no-normalization", "MQTT-4.7.3-4", "MQTT-4.7.3-4", must, "topics are compared as they are: case, empty levels and accents count", matchesLike(
			[]string{"a/b", "A/b", "a/b/", "/a/b", "a//b", "é", "e\u0301", "ﬀ", "ff"},
			[]string{"a/b", "A/b", "a/b/", "/a/b", "a//b", "é", "e\u0301", "ﬀ", "ff", "b", "a"},
		)},
		{"filter/other-characters", "MQTT-4.7.3-4", "MQTT-4.7.3-4", must, "characters that mean something elsewhere mean nothing here: space . * > $ : \\ %", otherCharacters},
		{"filter/byte-order-mark", "MQTT-1.5.3-3", "MQTT-1.5.4-3", must, "U+FEFF in a topic is a character like any other", matchesLike([]string{"\ufeffa", "a"}, []string{"\ufeffa", "a"})},
		{"filter/generated", "§4.7", "§4.7", must, "generated topics match generated filters as the reference says", generated},
		{"filter/dollar", "MQTT-4.7.2-1", "MQTT-4.7.2-1", must, "a wildcard at the beginning matches no topic that begins with $", dollar},
		{"filter/hash-not-last", "MQTT-4.7.1-2", "MQTT-4.7.1-1", must, "# anywhere but alone in the last level is no valid filter", invalidFilters("a#", "#/a", "a/#/b", "a/b#", "##")},
		{"filter/plus-not-alone", "MQTT-4.7.1-3", "MQTT-4.7.1-2", must, "+ beside other characters in a level is no valid filter", invalidFilters("a+", "+a", "a/b+/c", "++")},
		{"filter/empty", "MQTT-4.7.3-1", "MQTT-4.7.3-1", must, "an empty filter is not valid", invalidFilters("")},
		{"filter/null", "MQTT-4.7.3-2", "MQTT-4.7.3-2", must, "a filter with U+0000 is not valid", invalidFilters("a\x00b")},
	}
}

// topics are those that the filters of the lists are tried on, below a root.
func topics() []string {
	return []string{"a", "b", "a/b", "a/", "/a", "/", "a/b/c", "a//c", "b/b", "a/b/", "//", "a/c/b/d", "b/b/a", "a/b/c/d", "A/B"}
}

// matchesLike tries filters on topics, all of them below the check's own root,
// and also the root by a wildcard.
func matchesLike(filters, topics []string) func(*exam) {
	return func(x *exam) {
		for _, f := range filters {
			if strings.ContainsAny(f, "+#") {
				x.needsWildcards()
			}
		}
		matchesReference(x, filters, topics)
	}
}

// matchesReference publishes every topic to a subscription of each filter.
func matchesReference(x *exam, filters, topics []string) {
	sub, pub := x.sub(), x.pub()
	var earlier []string // filters that were subscribed to and are not any more
	for n, f := range filters {
		filter := x.topic(f)
		if x.dice.IntN(3) == 0 && strings.ContainsAny(f, "+#") {
			filter = "+/" + f // others' messages match too, and are left out
		}
		suback := sub.trySubscribe([]packets.Subscription{{Filter: filter, Qos: 1}})
		if code := suback.ReasonCodes[0]; code != 1 {
			x.Unsupported("the broker answers the filter %q, with QoS 1, with %#02x", filter, code)
		}
		x.spread(sub)
		var sent []packets.Packet
		want := map[string]bool{}
		for i, t := range topics {
			label := fmt.Sprintf("f%d t%d", n, i)
			sent = append(sent, pub.publishing(x.topic(t), label, 1))
			if Matches(filter, x.topic(t)) {
				want[label] = true
			}
			if len(sent) == x.unanswered(len(topics)) || i == len(topics)-1 {
				for _, pk := range sent {
					pub.complete(pk)
				}
				sent = nil
			}
		}
		for i, t := range topics {
			if label := fmt.Sprintf("f%d t%d", n, i); want[label] {
				if m := sub.message(label); m.TopicName != x.topic(t) {
					x.Violates("what was published to %q came as %q", x.topic(t), m.TopicName)
				}
			}
		}
		for _, m := range sub.rest(pub) {
			if label := strings.TrimPrefix(string(m.Payload), x.token+" "); !want[label] {
				x.stray(m, filter, earlier, strings.HasPrefix(label, fmt.Sprintf("f%d ", n)))
			}
		}
		earlier = append(earlier, filter)
		sub.unsubscribe(filter)
	}
}

// stray tells of a message that no filter of the time asks for. Other statements are about
// one that an earlier filter asked for, or that is older than the subscription.
func (x *exam) stray(m *packet, filter string, earlier []string, now bool) {
	for _, f := range earlier {
		if Matches(f, m.TopicName) {
			x.Undecided("%q came to a subscription of %q: it matches %q, which had been unsubscribed", m.TopicName, filter, f)
		}
	}
	if !now {
		x.Undecided("%q came to a subscription of %q that was made after it was published", m.TopicName, filter)
	}
	x.Violates("%q came to a subscription of %q, which does not match it", m.TopicName, filter)
}

// otherCharacters tries levels with characters of other systems' own. A server
// may take none of a topic, which it says by closing the connection; one that it
// takes is compared as it is.
func otherCharacters(x *exam) {
	var taken, not []string
	for _, level := range []string{"a", "b", "a b", "a.b", "a.", "*", ">", "a*", "a$", "a:b", `a\b`, "%41"} {
		pub, sub := x.pub(), x.sub()
		pub.send(publisher(x.topic(level), 1, 1, x.payload("look")))
		_, refusedPublish := pub.find(ofType(packets.Puback), x.soon())
		code, refusedFilter := sub.trySubscribeOne(x.topic(level), 1)
		if refusedPublish == nil && refusedFilter == nil && code < 0x80 {
			taken = append(taken, level)
		} else {
			not = append(not, level)
		}
		pub.drop()
		sub.drop()
	}
	matchesReference(x, taken, taken)
	if len(not) > 0 {
		x.Unsupported("the broker takes no topics with %q", not)
	}
}

// generated draws filters and topics from few levels, so that many match.
func generated(x *exam) {
	x.needsWildcards()
	levels := []string{"a", "b", "", "aa", "A", "ä", "0"}
	draw := func(more ...string) string {
		all := append(slices.Clone(levels), more...)
		var parts []string
		for range 1 + x.dice.IntN(4) {
			parts = append(parts, all[x.dice.IntN(len(all))])
		}
		return strings.Join(parts, "/")
	}
	var filters, topics []string
	for range 16 {
		f := draw("+", "+", "+", "+", "+")
		if x.dice.IntN(3) == 0 {
			f += "/#"
		}
		filters = append(filters, f)
	}
	for range 24 {
		topics = append(topics, draw())
	}
	matchesReference(x, filters, topics)
}

func dollar(x *exam) {
	x.needsWildcards()
	topic, sub, exact := "$rmq/"+x.token, x.sub(), x.sub()
	sub.subscribeAll([]packets.Subscription{{Filter: "#"}, {Filter: "+/" + x.token}, {Filter: "+/#"}})
	exact.subscribe(topic, 0)
	// The server may refuse to take it; it goes by a connection of its own.
	sender := x.dial("sender", x.from)
	sender.send(x.connection(x.token + "sender"))
	if sender.await("CONNACK", ofType(packets.Connack)).ReasonCode != 0 {
		x.Undecided("the broker refuses a connection")
	}
	sender.send(publisher(topic, 0, 0, x.payload("m")))
	sender.pong(x.soon())
	if _, err := exact.find(x.labelled("m"), x.soon()); err != nil {
		x.delivers()
		x.Unsupported("the broker delivers nothing on the topic %q, in %v", topic, x.wait)
	}
	sub.nothing(x.pub(), "its topic begins with $, and every filter of the client with a wildcard")
}

// invalidFilters are filters of which none may be granted: the server closes the
// connection or refuses the subscription.
func invalidFilters(all ...string) func(*exam) {
	return func(x *exam) {
		for _, f := range all {
			c := x.sub()
			if f != "" {
				f = x.topic(f)
			}
			c.notGranted(f)
			c.drop()
		}
	}
}
