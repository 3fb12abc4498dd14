package tap

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A probe sees what each action does, is not counted, and sees nothing of it
// without the rule.
func TestExchange(t *testing.T) {
	tap, _, _ := newTap(t)
	want := map[Action]string{Drop: NeverArrives, Delay: Arrives, Duplicate: Twice, CutAfter: ThenCut, Truncate: HalfThenCut, Mutate: Altered}
	for kind := Any; kind <= Auth; kind++ {
		for _, way := range []Direction{ToBroker, ToClient} {
			if only, ok := kind.onlyGoes(); ok && only != way {
				continue
			}
			for do, what := range want {
				if do == Duplicate && kind != Publish {
					continue
				}
				r := Rule{Fault: "f1", Do: do, Packet: kind, Direction: way, Clients: []string{"nobody"}, Nth: 5, DelayMS: 30, Change: TypeZero}
				name := fmt.Sprintf("%s %s %s", do, kind, way)
				exchanged(t, tap, name+" before", r, Arrives, 0)
				tap.Set([]Rule{r})
				exchanged(t, tap, name, r, what, r.delayOf(do))
				exchanged(t, tap, name+" of another fault", Rule{Fault: "f2", Packet: kind, Direction: way}, Arrives, 0)
				r.Clients, r.Nth = nil, 1
				tap.Set(nil)
				tap.Set([]Rule{r})
				exchanged(t, tap, name+" of no fault", Rule{Packet: kind, Direction: way}, Arrives, 0)
				if c := tap.Count("f1"); c.Chosen != 0 || c.Acted() != 0 {
					t.Errorf("%s: %+v", name, c)
				}
				tap.Set(nil)
			}
		}
	}
}

func (r Rule) delayOf(do Action) time.Duration {
	if do == Delay {
		return r.delay()
	}
	return 0
}

func exchanged(t *testing.T, tap *Tap, name string, r Rule, want string, atLeast time.Duration) {
	t.Helper()
	got, err := tap.Exchange(t.Context(), r.Fault, r.Packet, r.Direction)
	if err != nil || got.What != want || got.Took < atLeast {
		t.Errorf("%s: %q after %s, %v; want %q", name, got.What, got.Took, err, want)
	}
}

func TestRuleCheck(t *testing.T) {
	for want, r := range map[string]Rule{
		"is no topic filter":    {Packet: Publish, Topic: "a/#/b"},
		"only publish has":      {Packet: Puback, Topic: "a"},
		"give one of them":      {Nth: 2, Percent: 5},
		"only publish may":      {Do: Duplicate, Packet: Puback},
		"no pingreq has that":   {Do: Mutate, Packet: Pingreq, Change: PacketIDZero},
		"only goes to_broker":   {Packet: Connect, Direction: ToClient},
		"client \"[\": syntax":  {Clients: []string{"["}},
		"only goes to_client":   {Packet: Suback, Direction: ToBroker},
		"no publish has that":   {Do: Mutate, Packet: Publish, Change: ReservedFlags},
		"stands for a whole le": {Packet: Publish, Topic: "a+"},
	} {
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
	if err := (Rule{Do: Drop, Packet: Publish, Topic: "a/+/#", Nth: 5, Clients: []string{"r*"}}).Check(); err != nil {
		t.Error(err)
	}
}
