package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// walking is random walks.
func walking() []entry {
	return []entry{
		{"walk/clients", "§4.1", "§4.1", must, "after each of many random steps of three clients, every client has the session, the messages and the retained messages that it must have", randomWalk},
	}
}

const (
	walkGroup = "walk"
	walkLimit = 10 * time.Minute // in all, and more for each step that the options ask for
	walkSteps = 300              // of a walk, unless the options say otherwise
	walkBound = 20 * time.Second // of such a walk
	stepBound = time.Second      // of each step of a longer one
	reduction = 6                // times the wait of a check, for replays with fewer steps
	moreWalks = 9                // likewise, for all that follows the first violation

	confirmations = 4 // of the shortest walks
)

// A walk is random steps of some clients at one node. After each step it compares the received packets
// with a model of the server: the state of each client's session, and the messages on their way to it.
type walk struct {
	x         *exam
	clients   []*walker
	retained  map[string]*publication // by topic
	serial    int                     // of the latest message
	tolerates []string                // kinds of violations
	hasty     bool                    // it tolerated that a packet did not come, and waits less for others
}

// A finding is a violation, and the shortest walk that shows it.
type finding struct {
	last  *exam // that walk
	steps []step
	first int // steps of the walk that found it
}

func (f finding) String() string {
	var told []string
	for _, s := range f.steps {
		told = append(told, s.String())
	}
	if n := len(told); n > 40 {
		told = append(told[:20:20], append([]string{fmt.Sprintf("%d more steps", n-40)}, told[n-20:]...)...)
	}
	return fmt.Sprintf("%s. The steps are, of %d at first: %s", f.last.why, f.first, strings.Join(told, "; "))
}

// randomWalk walks until a step shows a violation, and finds the shortest walk that shows it. Then it walks
// on with other clients, and tolerates that kind of violation: it may hide others.
func randomWalk(x *exam) {
	x.needsQoS(2)
	x.needsRetain()
	x.needsWildcards()
	x.keepsFirst = !x.takesOver()
	steps, bound := walkSteps, walkBound // left
	if x.steps > 0 {
		steps, bound = x.steps, time.Duration(x.steps)*stepBound
	}
	var (
		findings []*finding
		seen     []string // kinds of violations
		unsure   string
		ctx      = x.Ctx
	)
	for steps > 0 && bound > 0 {
		var taken []step
		began := time.Now()
		last := x.again(ctx, x.wait, seen, func(k *walk) {
			for len(taken) < steps && time.Since(began) < bound {
				if s := drawn(x.dice); k.may(s) {
					taken = append(taken, s)
					k.take(s)
				}
			}
		})
		steps, bound = steps-len(taken), bound-time.Since(began)
		if len(seen) == 0 {
			x.packets = last.packets
			if last.verdict == Unsupported || last.verdict == Undecided {
				x.End(last.verdict, "step %d: %s", len(taken), last.why)
			}
		}
		if last.verdict != Violates || slices.Contains(seen, kind(last.why)) {
			break
		}
		if f := x.shortest(ctx, taken, last.why, seen); f != nil {
			findings = append(findings, f)
		} else if unsure == "" {
			unsure = fmt.Sprintf("%s; that was seen once, and not when the same %d steps were taken again", last.why, len(taken))
		}
		if len(seen) == 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(x.Ctx, moreWalks*x.wait)
			defer cancel()
		}
		seen = append(seen, kind(last.why))
	}
	switch {
	case len(findings) > 0:
		x.found(findings)
	case unsure != "":
		x.Undecided("%s", unsure)
	}
}

// found ends the check with violations, and with the packets of the walks that show them.
func (x *exam) found(findings []*finding) {
	if len(findings) == 1 {
		x.packets = findings[0].last.packets
		x.Violates("%s", findings[0])
	}
	var told []string
	x.packets = nil
	for i, f := range findings {
		told = append(told, fmt.Sprintf("%d. %s.", i+1, f))
		x.packets = append(append(x.packets, fmt.Sprintf("violation %d:", i+1)), f.last.packets...)
	}
	x.Violates("%d violations. %s", len(findings), strings.Join(told, " "))
}

// takesOver reports whether the broker closes the first of two connections with one client id. A check
// of its own decides whether it must; without it, clients of a walk leave before they connect again.
func (x *exam) takesOver() bool {
	first, _ := x.connect("twice", x.to)
	second, _ := x.connect("twice", x.to)
	_, closed := first.closedIn(x.wait)
	first.drop()
	second.disconnect()
	return closed
}

// again makes a walk of its own, with other names.
func (x *exam) again(ctx context.Context, wait time.Duration, tolerates []string, steps func(*walk)) *exam {
	next := &exam{setup: x.setup}
	next.from, next.wait, next.token = x.to, wait, Token(0)
	next.Bound = x.Bound
	next.run(ctx, func(x *exam) {
		k := &walk{x: x, retained: map[string]*publication{}, tolerates: tolerates}
		for i := range 3 {
			k.clients = append(k.clients, newWalker(fmt.Sprintf("c%d", i+1)))
		}
		steps(k)
		k.linger()
	})
	return next
}

// replay takes the steps again, but for those that clients may not take any more.
func replay(steps []step) func(*walk) {
	return func(k *walk) {
		for _, s := range steps {
			if k.may(s) {
				k.take(s)
			}
		}
	}
}

// shortest replays the walk with fewer and fewer steps and a short wait. It returns the shortest walk that
// also shows the violation with the whole wait and before any other violation, or nil if there is none.
func (x *exam) shortest(ctx context.Context, steps []step, why string, tolerates []string) *finding {
	reducing, cancel := context.WithTimeout(ctx, reduction*x.wait)
	defer cancel()
	shows := func(ctx context.Context, wait time.Duration, tolerates []string, some []step) *exam {
		last := x.again(ctx, wait, tolerates, replay(some))
		if last.verdict != Violates || kind(last.why) != kind(why) {
			return nil
		}
		return last
	}
	found := reduced(steps, func(fewer []step) bool {
		return reducing.Err() == nil && shows(reducing, min(x.wait, time.Second)/4, tolerates, fewer) != nil
	})
	slices.Reverse(found)
	if n := len(found); n > confirmations {
		found = append(found[:confirmations], found[n-1])
	}
	for _, short := range found {
		if last := shows(ctx, x.wait, nil, short); last != nil {
			return &finding{last, short, len(steps)}
		}
	}
	return nil
}

// kind is what a violation says, without the names and numbers of its walk.
func kind(why string) string {
	words := slices.DeleteFunc(strings.Fields(why), func(w string) bool {
		return len(w) < 2 || strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })
	})
	return strings.Join(words, " ")
}

// reduced leaves out steps, in halves, quarters and so on, while the rest still shows something. Each of
// the lists that it returns does so, and is shorter than the one before.
func reduced(steps []step, shows func([]step) bool) (found [][]step) {
	found = [][]step{steps}
	for size := len(steps) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(steps); {
			fewer := slices.Concat(steps[:i], steps[i+size:])
			if !shows(fewer) {
				i += size
				continue
			}
			found, steps = append(found, fewer), fewer
		}
	}
	return found
}
