package campaigns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// The kinds of proof that can decide an attribution.
const (
	ProofWire     = "wire"
	proofControl  = "control"
	proofVersions = "versions" // other versions of the library, driven by the same program, do not fail, and these do each time
	proofProtocol = "protocol" // the driver declares that its SDK speaks an earlier version of it
)

// onWire are the deviations of a claim in which packets show who left the
// specification.
func (c *sdkRuns) onWire(claim string) (list []reports.Attribution) {
	blamed := func(p verdict.Party) []*subject {
		return c.those(func(s *subject) bool { return s.blamed(claim, p) })
	}
	if of := blamed(verdict.Broker); len(of) > 0 {
		cause, with := reports.CauseBroker, "with "+some(of)
		if others := c.those(func(s *subject) bool { return s.passes(claim) }); len(others) > 0 {
			with += " and not with " + some(others)
			// A broker loses an acknowledged message, whatever library meets that. A failure
			// that did not come each time says nothing of the libraries without it.
			if !strings.HasSuffix(claim, "no-loss") && eachRepeated(of, claim) && flaky(of, claim) == "" {
				cause = reports.CauseProtocol
			}
		} else if len(byLibrary(of)) > 1 {
			with = "whichever SDK is used"
		}
		a := c.deviation(cause, claim, of)
		a.Proof, a.Text = ProofWire, fmt.Sprintf("the wire shows %s leaving the specification, %s%s", c.group.broker, with, howOftenBy(of, claim, verdict.Broker))
		a.Evidence = append(evidence(of, claim, verdict.Broker), untold(of, claim)...)
		if well := c.controls.those(func(s *subject) bool { return s.passes(claim) }); len(well) > 0 {
			a.Evidence = append(a.Evidence, "the control broker passes: "+c.controlsText(well, claim))
		}
		if !repeated(of, claim) && !repeated(c.faulty.those(func(s *subject) bool { return s.blamed(claim, verdict.Broker) }), claim) {
			a.Next = append(a.Next, c.again(of[0]))
		}
		list = append(list, a)
	}
	for _, of := range byLibrary(blamed(verdict.SDK)) {
		a := c.deviation(reports.CauseSDK, claim, of)
		a.Proof, a.Text = ProofWire, fmt.Sprintf("the wire shows %s leaving the specification%s%s", a.Versions, howOftenBy(of, claim, verdict.SDK), c.elsewhere(of, claim))
		a.Evidence = append(evidence(of, claim, verdict.SDK), untold(of, claim)...)
		known(&a)
		list = append(list, a)
	}
	for _, p := range []struct {
		party verdict.Party
		cause reports.Cause
	}{{verdict.Harness, reports.CauseHarness}, {verdict.CheckerSelf, reports.CauseHarness}, {verdict.Environment, reports.CauseEnvironment}} {
		if of := blamed(p.party); len(of) > 0 {
			a := c.deviation(p.cause, claim, of)
			a.Proof, a.Text = ProofWire, fmt.Sprintf("the wire shows that it is the %s's doing", p.party)
			a.Evidence = evidence(of, claim, p.party)
			list = append(list, a)
		}
	}
	return list
}

// byPattern returns the deviations of a claim in which the wire blames nobody.
// The SDKs that hold the claim tell the pattern.
func (c *sdkRuns) byPattern(claim string) []reports.Attribution {
	silent := c.those(func(s *subject) bool {
		said := func(m *subject) bool { return m.sdk == s.sdk && m.silent(claim) }
		return s.silent(claim) && !slices.ContainsFunc(c.controlled.subjects, said)
	})
	if len(silent) == 0 {
		return nil
	}
	if shown := c.those(func(s *subject) bool { return s.blamed(claim, verdict.Broker) }); len(shown) > 0 {
		return []reports.Attribution{c.likeOthers(claim, silent, shown)}
	}
	if len(c.those(func(s *subject) bool { return s.passes(claim) })) == 0 {
		return []reports.Attribution{c.allFail(claim, silent)}
	}
	var list []reports.Attribution
	for _, of := range byLibrary(silent) {
		list = append(list, c.someFail(claim, of))
	}
	return list
}

// likeOthers attributes the failures of SDKs for a claim where the wire shows
// the broker at fault with other SDKs. If every SDK fails and the control
// broker does not, the broker is the cause here too. Otherwise the cause is
// undecided, and the broker is only suspected.
func (c *sdkRuns) likeOthers(claim string, of, shown []*subject) reports.Attribution {
	well := c.controls.those(func(s *subject) bool { return s.passes(claim) })
	ill := c.controls.those(func(s *subject) bool { return s.silent(claim) })
	someHold := len(c.those(func(s *subject) bool { return s.passes(claim) })) > 0
	a := c.deviation(reports.CauseUndecided, claim, of)
	a.Text = fmt.Sprintf("fails what %s fails too, where the wire shows the broker at fault", some(shown))
	a.Evidence = evidence(of, claim, "")
	if !someHold && len(well) > 0 && len(ill) == 0 && c.controlsLacking(of, claim) == 0 {
		a.Cause, a.Proof = reports.CauseBroker, proofControl
		a.Text += fmt.Sprintf("; %s%s, and not on the control broker (%s)", c.fail(claim), howOften(of, claim), c.controlsText(well, claim))
		a.Next = append(a.Next, c.tapped(of[0])...)
		return a
	}
	a.Suspect = reports.CauseBroker
	a.Next = c.toDecide(of[0], claim, true)
	return a
}

// allFail is the pattern of the broker, or of us: the control broker tells.
func (c *sdkRuns) allFail(claim string, of []*subject) reports.Attribution {
	well := c.controls.those(func(s *subject) bool { return s.passes(claim) })
	ill := c.controls.those(func(s *subject) bool { return s.silent(claim) && s.promised(claim) })
	libraries := len(byLibrary(of)) // where the wire shows a library at fault, that tells nothing of the broker
	a := c.deviation(reports.CauseUndecided, claim, of)
	a.Evidence = evidence(of, claim, "")
	switch {
	case len(well) > 0 && len(ill) == 0 && libraries > 1:
		a.Text = fmt.Sprintf("%s%s, and not on the control broker (%s)", c.fail(claim), howOften(of, claim), c.controlsText(well, claim))
		if a.Controls = c.controlsLacking(of, claim); a.Controls == 0 {
			a.Cause, a.Proof = reports.CauseBroker, proofControl
		} else {
			a.Suspect = reports.CauseBroker
			a.Text += fmt.Sprintf("; it must hold in %s more to rule out chance", plural(a.Controls, "run", "runs"))
			a.Next = append(a.Next, c.control(of[0])...)
		}
		a.Next = append(a.Next, c.tapped(of[0])...)
	case len(well) > 0 && len(ill) == 0:
		a.Suspect = reports.CauseBroker
		others := "was tried"
		if len(byLibrary(c.subjects)) > libraries {
			others = "could tell"
		}
		a.Text = fmt.Sprintf("%s fails on %s and not on the control broker; no other library %s", a.Versions, c.group.broker, others)
		a.Next = append(append(a.Next, c.otherSDK(of[0])), c.tapped(of[0])...)
	case len(ill) > 0 && len(well) == 0:
		a.Cause, a.Proof = reports.CauseHarness, proofControl
		a.Text = fmt.Sprintf("it fails on the control broker too (%s), and the wire does not show who is at fault: suspect the scenario, its driver or this machine", c.controlsText(ill, claim))
		a.Next = append(append(a.Next, c.tapped(of[0])...), c.alone(of[0]))
	case len(ill) > 0:
		a.Text = fmt.Sprintf("%s; on the control broker %s fails and %s does not", c.fail(claim), some(ill), some(well))
		a.Next = append(append(a.Next, c.tapped(of[0])...), c.again(of[0]))
	default:
		if libraries > 1 {
			a.Suspect, a.Controls = reports.CauseBroker, c.controlsLacking(of, claim)
		}
		a.Text = fmt.Sprintf("%s, and no control broker that promises it was tried", c.fail(claim))
		a.Next = append(a.Next, c.control(of[0])...)
		if libraries < 2 {
			a.Next = append(a.Next, c.otherSDK(of[0]))
		}
		a.Next = append(a.Next, c.tapped(of[0])...)
	}
	return a
}

// someFail is the pattern of one library: a version of it, or the place where
// the broker leaves the specification and only this library notices.
func (c *sdkRuns) someFail(claim string, of []*subject) reports.Attribution {
	lib := library(of[0].sdk)
	mine := c.those(func(s *subject) bool { return library(s.sdk) == lib })
	well := c.those(func(s *subject) bool { return s.passes(claim) && library(s.sdk) == lib })
	wellThere := c.controlsOf(of, func(s *subject) bool { return s.passes(claim) })
	illThere := c.controlsOf(of, func(s *subject) bool { return s.silent(claim) && s.promised(claim) })
	a := c.deviation(reports.CauseUndecided, claim, of)
	a.Evidence = evidence(of, claim, "")
	rest := c.elsewhere(of, claim)
	switch {
	case len(wellThere) > 0:
		a.Suspect = reports.CauseProtocol
		a.Text = fmt.Sprintf("%s fails on %s%s, but not on the control broker: the broker may leave the specification where this client alone notices", a.Versions, c.group.broker, rest)
	case flaky(of, claim) != "":
		a.Suspect = reports.CauseSDK
		a.Text = fmt.Sprintf("%s fails%s, but not each time: %s", a.Versions, rest, flaky(of, claim))
	case len(well) > 0 && adjoining(mine, of, claim):
		known(&a)
		a.Suspect = reports.CauseSDK
		a.Text = fmt.Sprintf("%s fails, and %s, by the same driver, does not", a.Versions, some(well))
		if eachRepeated(of, claim) {
			a.Cause, a.Suspect, a.Proof = reports.CauseSDK, "", proofVersions
		} else {
			a.Text += "; once each, which may be chance"
		}
		if len(illThere) > 0 {
			a.Text += "; it fails on the control broker too"
		}
	case known(&a): // which explains it, and shows nothing
		a.Suspect = reports.CauseSDK
		a.Text = fmt.Sprintf("%s fails%s, as upstream knows of it, and the wire does not show it here", a.Versions, rest)
	case len(well) > 0:
		a.Suspect = reports.CauseSDK
		a.Text = fmt.Sprintf("%s fails, and versions before, between or after do not: %s", a.Versions, some(well))
	case len(illThere) > 0 && slices.ContainsFunc(slices.Concat(of, illThere), func(s *subject) bool { return s.tapped(claim) }):
		a.Cause, a.Proof = reports.CauseHarness, proofControl
		a.Text = fmt.Sprintf("%s fails on the control broker too, and the recorded wire does not show who is at fault: suspect its driver", a.Versions)
	case len(illThere) > 0:
		a.Suspect = reports.CauseSDK
		a.Text = fmt.Sprintf("%s fails%s, on the control broker too: it is the library or its driver", a.Versions, rest)
	default:
		a.Suspect = reports.CauseProtocol
		a.Text = fmt.Sprintf("%s fails%s: the broker's protocol implementation, or the library", a.Versions, rest)
	}
	a.Next = c.toDecide(of[0], claim, len(wellThere)+len(illThere) > 0)
	return a
}

// toDecide is what is still missing about an SDK that fails alone.
func (c *sdkRuns) toDecide(s *subject, claim string, controlled bool) (steps []reports.Step) {
	if !s.tapped(claim) {
		steps = append(steps, c.tapped(s)...)
	}
	if len(s.attempts()) < 2 {
		steps = append(steps, c.again(s))
	}
	if !controlled {
		steps = append(steps, c.control(s)...)
	}
	if len(steps) == 0 {
		steps = append(steps, c.read(s, claim))
	}
	return steps
}

// repeated reports whether a subject failed a claim more than once.
func repeated(of []*subject, claim string) bool {
	return slices.ContainsFunc(of, func(s *subject) bool { return len(s.failing(claim)) > 1 })
}

// eachRepeated reports whether all of them did.
func eachRepeated(of []*subject, claim string) bool {
	return !slices.ContainsFunc(of, func(s *subject) bool { return len(s.failing(claim)) < 2 })
}

// flaky says how often a claim failed where it did not each time; "" else.
func flaky(of []*subject, claim string) string {
	failed, all := counted(of, claim)
	if failed == all {
		return ""
	}
	return fmt.Sprintf("%d of %d runs", failed, all)
}

// adjoining reports whether the versions that fail are one alone, or all up to
// or from one.
func adjoining(mine, of []*subject, claim string) bool {
	tried := slices.DeleteFunc(slices.Clone(mine), func(s *subject) bool { return !s.fails(claim) && !s.passes(claim) })
	bad := 0
	for _, s := range tried {
		if s.fails(claim) {
			bad++
		}
	}
	first := slices.IndexFunc(tried, func(s *subject) bool { return s.fails(claim) })
	good := slices.IndexFunc(tried, func(s *subject) bool { return !s.fails(claim) })
	return bad == 1 || good == bad || first == len(tried)-bad
}

// controlsOf are the same SDKs on the control broker.
func (c *sdkRuns) controlsOf(of []*subject, is func(*subject) bool) []*subject {
	return c.controls.those(func(s *subject) bool { return slices.Contains(names(of), s.sdk) && is(s) })
}

// elsewhere says who holds a claim that others fail: " (not so …)".
func (c *sdkRuns) elsewhere(of []*subject, claim string) string {
	others := c.those(func(s *subject) bool { return s.passes(claim) && !slices.Contains(of, s) })
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf(" (not so %s)", strings.ReplaceAll(some(others), "; ", ", "))
}

// some names subjects, the first of many.
func some(list []*subject) string {
	const shown = 3
	text := versionsText(names(list[:min(len(list), shown)]))
	if more := len(list) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// controlsText names the runs on the control broker, and in what else that differs.
func (c *sdkRuns) controlsText(list []*subject, claim string) string {
	var told []Cell
	for _, s := range list {
		told = append(told, slices.DeleteFunc(slices.Clone(s.attempts()), func(of Cell) bool { return !of.held(claim) && !of.passes(claim) })...)
	}
	cell := told[0]
	text := fmt.Sprintf("%s with %s, run %s", cell.Broker, cell.SDK, cell.RunID)
	if more := len(told) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if was, is := c.group.broker.Nodes, cell.Broker.Nodes; was != is && is > 0 {
		text += fmt.Sprintf(", %s in place of %d", plural(is, "node", "nodes"), was)
	}
	if c.group.broker.Differs != "" && cell.Broker.Differs == "" {
		text += ", without the settings"
	}
	return text
}

// fail says how many SDKs fail a claim that none is seen to hold.
func (c *sdkRuns) fail(claim string) string {
	failing := len(c.those(func(s *subject) bool { return s.fails(claim) }))
	if failing == len(c.subjects) {
		return fmt.Sprintf("every SDK fails on %s (%d of them)", c.group.broker, failing)
	}
	return fmt.Sprintf("%d of %d SDKs fail on %s, and the others could not tell", failing, len(c.subjects), c.group.broker)
}

// blameOf returns whose doing the violations of a claim are: as they were attributed,
// else as the wire shows it.
func blameOf(claim string, party verdict.Party, runs []string, attributions []reports.Attribution) string {
	for _, a := range attributions {
		same := slices.Contains(a.Claims, claim) && slices.ContainsFunc(a.Runs, func(run string) bool { return slices.Contains(runs, run) })
		if same && (a.Cause.Accuses(party) || party == "" && a.Proof != ProofWire) {
			return a.Words()
		}
	}
	if party == "" {
		return ""
	}
	return string(party) + ", by wire"
}
