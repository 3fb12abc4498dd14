package faults

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/near"
)

// A Param is one parameter of a kind of fault. Its name ends with its unit. Its
// type is that of its default: a float64 is any number, or a string, or a bool.
type Param struct {
	Name     string
	Doc      string
	Default  any      // where it is required, only its type counts
	Required bool     // there is no default that would make sense
	Min, Max float64  // of a number, both inclusive
	OneOf    []string // of a string; nil for any
	Less     bool     // of a number: the less of it, the less of a fault
	UpTo     string   // of a number: the nearer to the parameter of that name, which is higher, the less of a fault
}

// Params are checked parameters, every one of them present: float64, string or
// bool.
type Params map[string]any

// Seconds is a number of seconds as a duration.
func (p Params) Seconds(name string) time.Duration {
	s, _ := p[name].(float64)
	return time.Duration(s * float64(time.Second))
}

// text is a string.
func (p Params) text(name string) string {
	s, _ := p[name].(string)
	return s
}

// number is a number.
func (p Params) number(name string) float64 {
	f, _ := p[name].(float64)
	return f
}

// whole is a number that has no fraction.
func (p Params) whole(name string) (int, error) {
	v := p.number(name)
	if v != float64(int(v)) {
		return 0, fmt.Errorf("parameter %s: got %g; valid: a whole number", name, v)
	}
	return int(v), nil
}

// milliseconds is a number of milliseconds as a duration.
func (p Params) milliseconds(name string) time.Duration {
	return time.Duration(p.number(name) * float64(time.Millisecond))
}

// seed is the parameter of that name.
func (p Params) seed() uint64 { return uint64(p.number("seed")) }

// fill checks what was given and adds the defaults of what was not. All that
// is wrong is in the error.
func fill(known []Param, given map[string]any) (Params, error) {
	out := Params{}
	var errs []error
	for _, p := range known {
		v, ok := given[p.Name]
		if !ok {
			out[p.Name] = p.Default
			if p.Required {
				errs = append(errs, fmt.Errorf("parameter %s is required: %s", p.Name, p.Doc))
			}
			continue
		}
		checked, err := p.check(v)
		if err != nil {
			errs = append(errs, fmt.Errorf("parameter %s: %w", p.Name, err))
		}
		out[p.Name] = checked
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := out[name]; !ok {
			errs = append(errs, fmt.Errorf("no parameter %q%s; valid: %s", name, nearTo(name, known), strings.Join(paramNames(known), ", ")))
		}
	}
	return out, errors.Join(errs...)
}

// check answers the value in the parameter's type, or what would be valid.
func (p Param) check(v any) (any, error) {
	switch p.Default.(type) {
	case float64:
		f, ok := number(v)
		if !ok || !(f >= p.Min && f <= p.Max) {
			return nil, fmt.Errorf("%s; valid: a number from %g to %g", show(v), p.Min, p.Max)
		}
		return f, nil
	case string:
		s, ok := v.(string)
		if !ok || p.OneOf != nil && !slices.Contains(p.OneOf, s) {
			return nil, fmt.Errorf("%s; valid: %s", show(v), p.strings())
		}
		return s, nil
	default:
		b, ok := v.(bool)
		if !ok {
			return nil, fmt.Errorf("%s; valid: true, false", show(v))
		}
		return b, nil
	}
}

func (p Param) strings() string {
	if p.OneOf == nil {
		return "a string"
	}
	return strings.Join(p.OneOf, ", ")
}

// number takes what JSON and YAML decode numbers into.
func number(v any) (float64, bool) {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0, false
	case r.CanFloat():
		return r.Float(), true
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	}
	return 0, false
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("got %q", s)
	}
	return fmt.Sprintf("got %v", v)
}

// nearTo suggests what was meant: the same word with its unit, or with a slip.
func nearTo(name string, known []Param) string {
	for _, p := range known {
		if strings.HasPrefix(p.Name, name+"_") {
			return fmt.Sprintf(" (did you mean %s? A name ends with its unit)", p.Name)
		}
	}
	return near.Hint(name, paramNames(known), "")
}

func paramNames(known []Param) (names []string) {
	for _, p := range known {
		names = append(names, p.Name)
	}
	return names
}
