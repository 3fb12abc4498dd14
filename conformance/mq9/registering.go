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

func (x *exam) register(card map[string]any) {
	text, err := json.Marshal(card)
	if err != nil {
		x.Undecided("encode a card: %v", err)
	}
	x.agents = append(x.agents, x.body("name", card["name"], "mailbox", card["mailbox"]))
	if r := x.out().ask(subjectRegister, text); r.failed() {
		x.Undecided("the agent of the check is refused: %s; see agent/registered", r)
	}
}

// discovered are the registrations that a reply has, as texts, of this check alone.
func (x *exam) discovered(fields ...any) []string {
	r := x.in().ask(subjectDiscover, x.body(fields...))
	if said := r.text("error"); said != "" && len(fields) > 0 {
		x.Unsupported("the broker says %q", said)
	}
	// The page shows a list, the vendor's libraries read it from agents.
	var all []json.RawMessage
	if json.Unmarshal(r.raw, &all) != nil && (r.failed() || json.Unmarshal(r.object["agents"], &all) != nil) {
		x.Violates("%s is answered by %s", subjectDiscover, r)
	}
	var ours []string
	for _, a := range all {
		// The page shows the registration itself, the vendor's libraries read it from
		// agent_info: both are taken.
		var wrapped struct {
			Info string `json:"agent_info"`
		}
		text := string(a)
		if json.Unmarshal(a, &wrapped) == nil && wrapped.Info != "" {
			text = wrapped.Info
		}
		if strings.Contains(text, x.token) {
			ours = append(ours, text)
		}
	}
	return ours
}

// has reports whether one of the texts is of an agent.
func (x *exam) has(all []string, name string) bool {
	return slices.ContainsFunc(all, func(text string) bool {
		return strings.Contains(text, x.address(name)) || strings.Contains(text, `"`+x.token+name+`"`)
	})
}

// listedAgent is that an agent is there.
func (x *exam) listedAgent(name string) {
	x.eventually("an agent that registered is not among those that DISCOVER returns", func() bool { return x.has(x.discovered(), name) })
}

func registered(x *exam) {
	for _, name := range []string{"a", "b"} {
		card := x.card(name, "translate")
		text, _ := json.Marshal(card) // of texts alone
		x.agents = append(x.agents, x.body("name", card["name"], "mailbox", card["mailbox"]))
		x.out().done(subjectRegister, text)
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
	card := x.card("a", "translate")
	x.register(card)
	x.listedAgent("a")
	var got any
	if text := x.discovered()[0]; json.Unmarshal([]byte(text), &got) != nil {
		x.Violates("DISCOVER returns %s, which is no JSON", clip(text))
	}
	sent, _ := json.Marshal(card)
	came, _ := json.Marshal(got)
	var want any
	json.Unmarshal(sent, &want)
	if again, _ := json.Marshal(want); string(again) != string(came) {
		x.Violates("%s was registered, DISCOVER returns %s", again, came)
	}
}

func registeredAgain(x *exam) {
	x.register(x.card("a", "translate"))
	x.listedAgent("a")
	x.register(x.card("a", "summarize"))
	x.eventually("what an agent registered last is not there once and alone", func() bool {
		all := x.discovered()
		return len(all) == 1 && strings.Contains(all[0], "summarize")
	})
}

func unregistered(x *exam) {
	x.register(x.card("a", "translate"))
	x.register(x.card("b", "translate"))
	x.listedAgent("a")
	x.listedAgent("b")
	x.out().done(subjectUnregister, x.body("name", x.token+"a", "mailbox", "mq9://broker/"+x.address("a")))
	x.eventually("an agent that unregistered is still there", func() bool { return !x.has(x.discovered(), "a") })
	if !x.has(x.discovered(), "b") {
		x.Violates("another agent is gone too")
	}
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
	x.register(x.card("a", "translate"))
	x.listedAgent("a")
	x.out().done(subjectReport, x.body("name", x.token+"a", "mailbox", "mq9://broker/"+x.address("a"), "report_info", "busy"))
}

func discoverText(x *exam) {
	word := oddWord()
	x.register(x.card("a", "sends an invoice "+word))
	x.listedAgent("a")
	x.eventually("the agent that has the word is not found by it", func() bool { return x.has(x.discovered("text", word), "a") })
}

func discoverNoOthers(x *exam) {
	word := oddWord()
	x.register(x.card("a", "sends an invoice "+word))
	x.register(x.card("b", "paints"))
	x.listedAgent("a")
	x.listedAgent("b")
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
		x.register(x.card(fmt.Sprintf("a%d", i), word))
	}
	for i := range agents {
		x.listedAgent(fmt.Sprintf("a%d", i))
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
	x.register(x.card("a", "Processes payments and issues invoices"))
	x.listedAgent("a")
	x.eventually("the agent is not found by the meaning of what it does", func() bool {
		return x.has(x.discovered("semantic", "take somebody's money and write a bill for it"), "a")
	})
}
