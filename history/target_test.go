package history_test

import (
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// A fault concerns a client if it is on the brokers or on clients that include it: what
// others meet excuses nothing of its own.
func TestConcerning(t *testing.T) {
	publisher := history.Process{Name: "publisher-1", Group: history.GroupPublisher}
	reader := history.Process{Name: "subscriber-1", Group: "subscriber"}
	will := history.Process{Name: "will-1", Group: history.GroupWill}
	for _, c := range []struct {
		target string
		client history.Process
		want   bool
	}{
		{"leader", publisher, true},
		{"n1", reader, true},
		{history.TargetClients, will, true},
		{history.TargetPublishers, publisher, true},
		{history.TargetPublishers, reader, false},
		{history.TargetSubscribers, reader, true},
		{history.TargetSubscribers, will, false},
		{"client:publisher-1", publisher, true},
		{"client:publisher-1", reader, false},
		{"client:7", reader, true},
		{"client:8", reader, false},
	} {
		if got := len(history.Concerning([]history.Landing{{Target: c.target}}, 7, c.client)) == 1; got != c.want {
			t.Errorf("a fault of %s concerns %s: %t, want %t", c.target, c.client.Name, got, c.want)
		}
	}
}

// A fault on a client says when its connection was lost, whether the target has its name
// or its number. A fault on the brokers 10 s before may be why else.
func TestUnsettled(t *testing.T) {
	const lost = 60 * time.Second
	fault := func(target string, at time.Duration) history.Landing {
		var l history.Landing
		l.Target, l.Times.AppliedNS, l.Times.HealedNS = target, int64(at), int64(at+time.Second)
		return l
	}
	will := history.Process{Name: "will-1", Group: history.GroupWill}
	broker := fault("leader", lost-10*time.Second)
	for name, c := range map[string]struct {
		own  []history.Landing
		want bool
	}{
		"no fault on a client":   {nil, true},
		"by name":                {[]history.Landing{fault("client:will-1", lost-time.Second)}, false},
		"by number":              {[]history.Landing{fault("client:7", lost-time.Second)}, false},
		"everybody":              {[]history.Landing{fault(history.TargetClients, lost-time.Second)}, false},
		"publishers":             {[]history.Landing{fault(history.TargetPublishers, lost-time.Second)}, true},
		"another client":         {[]history.Landing{fault("client:will-2", lost-time.Second)}, true},
		"on it, but long before": {[]history.Landing{fault("client:7", lost-8*time.Second)}, true},
	} {
		if got := history.Unsettled(append(c.own, broker), 7, will, lost); got != c.want {
			t.Errorf("%s: unsettled %t, want %t", name, got, c.want)
		}
	}
}
