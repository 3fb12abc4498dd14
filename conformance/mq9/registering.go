package mq9

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

const (
	citeRegister   = "protocol.md#mq9aiagentregister"
	citeUnregister = "protocol.md#mq9aiagentunregister"
	citeReport     = "protocol.md#mq9aiagentreport"
	citeDiscover   = "protocol.md#mq9aiagentdiscover"
	citePages      = "protocol.md#discover-request-fields"
	citeAgentError = "faq.md#what-errors-should-i-handle"
)

// registering is the register of agents.
func registering() []entry {
	return []entry{
		{"agent/registered", citeDiscover, must, "an agent that registered is among those that DISCOVER returns", registered},
		{"agent/mailbox-alone", citeRegister, must, "a body needs a mailbox, and nothing else", mailboxAlone},
		{"agent/as-it-was", citeDiscover, must, "DISCOVER returns what was registered, unchanged", asItWas},
		{"agent/again", citeRegister, should, "an agent that registers again is there once, with what it said last", registeredAgain},
		{"agent/unregistered", citeUnregister, must, "an agent that unregistered is gone", unregistered},
		{"agent/unregister-unknown", citeAgentError, must, "unregistering an agent that is not there is refused with \"agent not found\"", unregisterUnknown},
		{"agent/report", citeReport, must, "an agent that registered may report", reports},
		{"agent/report-unknown", citeAgentError, must, "a report of an agent that is not there is refused with \"agent not found\"", reportUnknown},
		{"agent/text", citePages, must, "with a text it returns agents that have the word", discoverText},
		{"agent/text-others", citePages, should, "with a text it returns no agents that do not have the word", discoverNoOthers},
		{"agent/pages", citePages, must, "with a text, limit and page it returns each agent on one page", discoverPages},
		{"agent/semantic", citePages, must, "with a sentence it returns agents by its meaning", discoverMeaning},
	}
}

// card is what an agent of the check registers.
func (x *exam) card(name, skill string) map[string]any {
	return map[string]any{
		"name": x.token + name, "mailbox": "mq9://broker/" + x.address(name), "description": skill, "version": "1.0.0", "url": "http://localhost/",
		"capabilities": map[string]any{"streaming": true}, "defaultInputModes": []string{"text"}, "defaultOutputModes": []string{"text"},
		"skills": []any{map[string]any{"id": "s", "name": skill, "description": skill, "tags": []string{"ä & <b>"}}},
	}
}

// register registers an agent that the check needs, and returns its registration as
// DISCOVER has it. That an agent registers and is found is what agent/registered says.
func (x *exam) register(name, skill string) (found string) {
	if r := x.out().ask(subjectRegister, x.registration(name, skill)); r.failed() {
		x.Undecided("the agent of the check is refused: %s; see agent/registered", r)
	}
	if !x.soon(x.wait, func() bool {
		ours, _ := x.everyPage()
		found = x.find(ours, name)
		return found != ""
	}) {
		x.serve()
		x.Undecided("the agent of the check is not among those that DISCOVER returns, in %v; see agent/registered", x.wait)
	}
	return found
}

// registration is the body of a request that registers an agent.
func (x *exam) registration(name, skill string) []byte {
	card := x.card(name, skill)
	text, err := json.Marshal(card)
	if err != nil {
		x.Undecided("encode a card: %v", err)
	}
	x.agents = append(x.agents, x.body("name", card["name"], "mailbox", card["mailbox"]))
	return text
}

// discovered are the registrations that a reply has, as texts, of this check alone.
func (x *exam) discovered(fields ...any) []string {
	r := x.in().ask(subjectDiscover, x.body(fields...))
	if said := r.text("error"); said != "" {
		x.Unsupported("the broker says %q", said)
	}
	all, ok := r.agents()
	if !ok {
		x.Violates("%s is answered by %s", subjectDiscover, r)
	}
	return x.ours(all)
}

// registrations are those of the check that DISCOVER returns without a text.
func (x *exam) registrations() []string {
	ours, first := x.everyPage()
	if _, ok := first.agents(); !ok {
		x.Violates("%s is answered by %s", subjectDiscover, first)
	}
	return ours
}

// everyPage are the registrations of the check on all pages of DISCOVER without a text,
// and the reply with the first page. A broker may return all agents, whatever page is
// asked for.
func (x *exam) everyPage() (ours []string, first reply) {
	first = x.in().ask(subjectDiscover, []byte("{}"))
	r, seen := first, map[string]bool{}
	for page := 2; page <= maxPages; page++ {
		all, _ := r.agents()
		all = slices.DeleteFunc(all, func(a json.RawMessage) bool { return seen[string(a)] })
		if len(all) == 0 {
			return ours, first
		}
		for _, a := range all {
			seen[string(a)] = true
		}
		ours = append(ours, x.ours(all)...)
		r = x.in().ask(subjectDiscover, x.body("page", page))
	}
	x.Undecided("%s has more than %d pages; unregister agents that are not needed", subjectDiscover, maxPages)
	return nil, first
}

// maxPages is more than the agents of others fill.
const maxPages = 100

// agents are those that a reply to DISCOVER has; ok is false where it has no list. The
// page shows a list, the vendor's libraries read it from agents.
func (r reply) agents() (all []json.RawMessage, ok bool) {
	ok = json.Unmarshal(r.raw, &all) == nil || !r.failed() && json.Unmarshal(r.object["agents"], &all) == nil
	return all, ok
}

// ours are the registrations of this check, as texts. The page shows the registration
// itself, the vendor's libraries read it from agent_info: both are taken.
func (x *exam) ours(all []json.RawMessage) (texts []string) {
	for _, a := range all {
		var wrapped struct {
			Info string `json:"agent_info"`
		}
		text := string(a)
		if json.Unmarshal(a, &wrapped) == nil && wrapped.Info != "" {
			text = wrapped.Info
		}
		if strings.Contains(text, x.token) {
			texts = append(texts, text)
		}
	}
	return texts
}

// find returns the one of the texts that is of an agent, "" for none.
func (x *exam) find(all []string, name string) string {
	for _, text := range all {
		if strings.Contains(text, x.address(name)) || strings.Contains(text, `"`+x.token+name+`"`) {
			return text
		}
	}
	return ""
}

// has reports whether one of the texts is of an agent.
func (x *exam) has(all []string, name string) bool { return x.find(all, name) != "" }

// listedAgent is that an agent is there.
func (x *exam) listedAgent(name string) {
	x.eventually("an agent that registered is not among those that DISCOVER returns", func() bool { return x.has(x.registrations(), name) })
}

func registered(x *exam) {
	for _, name := range []string{"a", "b"} {
		x.out().done(subjectRegister, x.registration(name, "translate"))
	}
	x.listedAgent("a")
	x.listedAgent("b")
}

func mailboxAlone(x *exam) {
	x.agents = append(x.agents, x.body("mailbox", "mq9://broker/"+x.address("a")))
	x.out().done(subjectRegister, x.body("mailbox", "mq9://broker/"+x.address("a")))
	x.listedAgent("a")
}

func asItWas(x *exam) {
	text := x.register("a", "translate")
	var got, want any
	if json.Unmarshal([]byte(text), &got) != nil {
		x.Violates("DISCOVER returns %s, which is no JSON", clip(text))
	}
	json.Unmarshal(x.registration("a", "translate"), &want)
	sent, _ := json.Marshal(want)
	if came, _ := json.Marshal(got); string(sent) != string(came) {
		x.Violates("%s was registered, DISCOVER returns %s", sent, came)
	}
}

func registeredAgain(x *exam) {
	x.register("a", "translate")
	x.register("a", "summarize")
	x.eventually("what an agent registered last is not there once and alone", func() bool {
		all := x.registrations()
		return len(all) == 1 && strings.Contains(all[0], "summarize")
	})
}

func unregistered(x *exam) {
	x.register("a", "translate")
	x.register("b", "translate")
	x.out().done(subjectUnregister, x.body("name", x.token+"a", "mailbox", "mq9://broker/"+x.address("a")))
	x.eventually("an agent that unregistered is still there", func() bool { return !x.has(x.registrations(), "a") })
	x.eventually("another agent is gone too", func() bool { return x.has(x.registrations(), "b") })
}

func unknownAgent(x *exam, subject string) {
	r := x.out().refused(subject, x.body("name", x.token+"nobody", "mailbox", "mq9://broker/"+x.address("nobody")))
	if !strings.Contains(r.text("error"), "agent not found") {
		x.Violates("the error is %s", r)
	}
}

func unregisterUnknown(x *exam) { unknownAgent(x, subjectUnregister) }

func reportUnknown(x *exam) { unknownAgent(x, subjectReport) }

func reports(x *exam) {
	x.register("a", "translate")
	x.out().done(subjectReport, x.body("name", x.token+"a", "mailbox", "mq9://broker/"+x.address("a"), "report_info", "busy"))
}

func discoverText(x *exam) {
	word := oddWord()
	x.register("a", "sends an invoice "+word)
	x.eventually("the agent that has the word is not found by it", func() bool { return x.has(x.discovered("text", word), "a") })
}

func discoverNoOthers(x *exam) {
	word := oddWord()
	x.register("a", "sends an invoice "+word)
	x.register("b", "paints")
	x.eventually("the agent that has the word is not found by it, alone", func() bool {
		all := x.discovered("text", word)
		return x.has(all, "a") && !x.has(all, "b")
	})
}

// oddWord is a word that no other agent has.
func oddWord() string {
	letters := make([]byte, 12)
	for i := range letters {
		letters[i] = 'a' + byte(rand.IntN(26))
	}
	return string(letters)
}

func discoverPages(x *exam) {
	const agents, limit = 5, 2
	word := oddWord()
	for i := range agents {
		x.register(fmt.Sprintf("a%d", i), word)
	}
	x.eventually("the word does not find all agents that have it", func() bool { return len(x.discovered("text", word, "limit", 20)) == agents })
	var all []string
	for page := 1; page <= (agents+limit-1)/limit; page++ {
		got := x.discovered("text", word, "limit", limit, "page", page)
		if len(got) > limit {
			x.Violates("a page of %d has %d agents", limit, len(got))
		}
		all = append(all, got...)
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); len(all) != agents || n != agents {
		x.Violates("%d agents have the word, the pages have %d, %d of them different", agents, len(all), n)
	}
}

func discoverMeaning(x *exam) {
	x.register("a", "Processes payments and issues invoices")
	x.eventually("the agent is not found by the meaning of what it does", func() bool {
		return x.has(x.discovered("semantic", "take somebody's money and write a bill for it"), "a")
	})
}
