// Package mq9 holds a broker against what mq9 promises to its clients, one
// small check for each sentence, on a healthy broker.
//
// The promises are those of the vendor's own pages, github.com/robustmq/mq9 at
// 37dbe40 (16 May 2026), in our words: protocol.md, which is the protocol, and
// website/docs/faq.md. A statement's number is its page and the heading above
// it. "MUST" marks a promise made in as many words or shown as an answer.
// "SHOULD" marks the consequences of such promises and the expectations of
// readers.
//
// A check speaks NATS itself. An expected message counts as missing if it is
// not there after Options.Wait. Messages are sent to the first node and read at
// the last one.
package mq9

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/conformance"
)

// Levels of a statement.
const (
	must   = "MUST"
	should = "SHOULD"
)

// An entry is a statement and its check.
type entry struct {
	name  string
	cite  string // page#heading
	level string
	text  string
	check func(*exam)
}

// entries are all that there are checks for, in the order of the groups.
func entries() []entry {
	var all []entry
	for _, group := range [][]entry{
		asking(), addresses(), creating(), sending(), heading(), fetching(), grouping(), ranking(), acknowledging(), querying(),
		deleting(), registering(), keepingApart(),
	} {
		all = append(all, group...)
	}
	return all
}

// Statements are all that there are checks for.
func Statements() []conformance.Statement {
	var all []conformance.Statement
	for _, e := range entries() {
		all = append(all, conformance.Statement{Name: e.name, Version: conformance.MQ9, Number: e.cite, Level: e.level, Text: e.text})
	}
	return all
}

// Run runs the checks, as conformance.Run does those of MQTT. A broker that lets
// nobody in, or makes no mailbox, is an error.
func Run(ctx context.Context, o conformance.Options) ([]conformance.Result, error) {
	o = o.Whole()
	if o.Statements == nil {
		o.Statements = Statements()
	}
	for _, address := range []string{o.From, o.To} {
		if err := greet(ctx, o, address); err != nil {
			return nil, err
		}
	}
	checks := map[string]func(*exam){}
	for _, e := range entries() {
		checks[e.name] = e.check
	}
	return o.Hold(ctx, func(s conformance.Statement, n int) conformance.Result {
		x := newExam(o, n)
		x.statement = s.Name
		x.Run(ctx, func() { checks[s.Name](x) }, x.clean)
		return x.Result(s, o.Known)
	})
}

// greet makes one mailbox.
func greet(ctx context.Context, o conformance.Options, address string) error {
	x := newExam(o, 0)
	x.Run(ctx, func() {
		c, said := x.dial("first", address), "it does not reply"
		if !x.soon(x.wait, func() bool { // nodes that were just started may not have found each other yet
			r, ok := c.request(subjectCreate, x.body("ttl", mailboxTTL)).tryReply(x.wait / 4)
			if ok {
				said = r.String()
			}
			return ok && !r.failed()
		}) {
			x.Undecided("it makes no mailbox in %v: %s", x.wait, said)
		}
	}, x.clean)
	if r := x.Result(conformance.Statement{}, nil); r.Verdict != conformance.Conforms {
		return fmt.Errorf("examine the broker at %s: %s; make sure that this is a NATS port without TLS of a broker with mq9, and check the user name and the password", address, r.Why)
	}
	return nil
}
