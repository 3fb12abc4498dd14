// Package plant is shared by all defects that are planted in or before a broker to
// show whether the judge finds them. It defines how a defect is asked for and how
// often it shows.
package plant

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Every is how rare a defect is where nothing else is said, and most how often it
// shows at most, so that a run ends in order.
const (
	Every = 25
	most  = 20
)

// Find returns the defect that is asked for by its name, and how rare it is: NAME/N is once in N
// packets or messages that the defect could show in.
func Find[D any](asked string, defects []D, nameOf func(D) string) (d D, every int64, err error) {
	name, rate, rare := strings.Cut(asked, "/")
	var names []string
	for _, d := range defects {
		names = append(names, nameOf(d))
	}
	i := slices.Index(names, name)
	if i < 0 {
		return d, 0, fmt.Errorf("no plant %q; there are %s", name, strings.Join(names, ", "))
	}
	if !rare {
		return defects[i], Every, nil
	}
	if every, err = strconv.ParseInt(rate, 10, 64); err != nil || every < 1 {
		return d, 0, fmt.Errorf("plant %s: once in %q; give a number of at least 1: %s/1000", name, rate, name)
	}
	return defects[i], every, nil
}

// Name is a defect with its rate, as Find takes it.
func Name(name string, every int64) string { return fmt.Sprintf("%s/%d", name, every) }

// A Rate says when a defect shows: once in every so many times that it could,
// and not more often than a run bears.
type Rate struct {
	every, most  int64
	could, shown atomic.Int64
}

// Once is the rate of once in so many.
func Once(every int64) *Rate { return &Rate{every: every, most: most} }

// Endless is the rate without a bound on how often the defect shows.
func (r *Rate) Endless() *Rate {
	r.most = math.MaxInt64
	return r
}

// Hits reports whether the defect is to show now that it could.
func (r *Rate) Hits() bool { return r.could.Add(1)%r.every == 0 && r.Shows() }

// Shows counts the defect, while it has not shown often enough.
func (r *Rate) Shows() bool {
	if r.shown.Add(1) > r.most {
		r.shown.Add(-1)
		return false
	}
	return true
}

// Shown is how often it showed.
func (r *Rate) Shown() int64 { return r.shown.Load() }
