package mq9

import "strings"

const citeAddress = "protocol.md#mail_address-format-specification"

// addresses is which addresses a mailbox may have.
func addresses() []entry {
	return []entry{
		{"address/valid", citeAddress, must, "the addresses that the page shows as valid are taken, and a mailbox of each holds messages", validAddresses},
		{"address/length", citeAddress, must, "addresses of 1 and of 128 characters are taken", allowedLengths},
		{"address/too-long", citeAddress, must, "an address of 129 characters is refused", refusesAddress(func(token string) string { return token + strings.Repeat("a", 129-len(token)) })},
		{"address/upper-case", citeAddress, must, "upper case is refused", refusesAddress(suffixed(".Task"))},
		{"address/hyphen", citeAddress, must, "a hyphen is refused", refusesAddress(suffixed("-task"))},
		{"address/underscore", citeAddress, must, "an underscore is refused", refusesAddress(suffixed("_task"))},
		{"address/other-characters", citeAddress, must, "everything but a–z, 0–9 and dots is refused", refusesAddress(
			suffixed(" task"), suffixed("/task"), suffixed("*"), suffixed(".*"), suffixed(".>"), suffixed("ä"), suffixed("\n"), suffixed("\x00"), suffixed("$a"), suffixed("１"))},
		{"address/percent", citeAddress, must, "percent-encoding is refused", refusesAddress(suffixed("%2etask"))},
		{"address/leading-dot", citeAddress, must, "a dot at the beginning is refused", refusesAddress(func(token string) string { return "." + token })},
		{"address/trailing-dot", citeAddress, must, "a dot at the end is refused", refusesAddress(suffixed("."))},
		{"address/two-dots", citeAddress, must, "two dots side by side are refused", refusesAddress(suffixed("..task"))},
		{"address/opaque", citeAddress, must, "dots mean nothing: what is sent to an address is not read at a longer or a shorter one", opaque},
	}
}

func suffixed(end string) func(string) string {
	return func(token string) string { return token + end }
}

func refusesAddress(made ...func(token string) string) func(*exam) {
	return func(x *exam) {
		for _, of := range made {
			x.out().refused(subjectCreate, x.body("name", of(x.token), "ttl", mailboxTTL))
		}
	}
}

func validAddresses(x *exam) {
	for _, name := range []string{"task.001", "agent.inbox", "acme.org.task.queue", "session.20260502", "0", "a.b.c.d.e.f.g"} {
		at := x.createAs(name)
		x.send(at, name)
		x.fetches("sent to "+at, at, earliest, name)
	}
}

func allowedLengths(x *exam) {
	if r := x.out().ask(subjectCreate, x.body("name", x.token[1:2], "ttl", 1)); r.failed() && !strings.Contains(r.text("error"), "already exists") {
		x.Violates("an address of one character is refused: %s", r)
	}
	at := x.createAs(strings.Repeat("a", 128-len(x.address(""))))
	x.send(at, "m")
	x.fetches("sent to an address of 128 characters", at, earliest, "m")
}

func opaque(x *exam) {
	short, long, other := x.create("a"), x.create("a.b"), x.create("a.b.c")
	x.send(long, "m")
	x.fetches("sent to "+long, long, earliest, "m")
	for _, at := range []string{short, other} {
		x.fetches("nothing was sent to "+at, at, earliest)
		if got := x.query(at); len(got) > 0 {
			x.Violates("nothing was sent to %s, QUERY returns %s", at, list(payloadsOf(got)))
		}
	}
}
