package faults

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A Param is one parameter of a kind of fault. Its name ends with its unit. Its
// type is that of its default: a float64 is any number, or a string, or a bool.
type Param struct {
	Name     string
	Doc      string
	Default  any
	Min, Max float64  // of a number, both inclusive
	OneOf    []string // of a string; nil for any
}

// Params are checked parameters, every one of them present: float64, string or
// bool.
type Params map[string]any

// Seconds is a number of seconds as a duration.
func (p Params) Seconds(name string) time.Duration {
	s, _ := p[name].(float64)
	return time.Duration(s * float64(time.Second))
}

// fill checks what was given and adds the defaults of what was not. All that
// is wrong is in the error.
func fill(known []Param, given map[string]any) (Params, error) {
	out := Params{}
	var errs []error
	for _, p := range known {
		v, ok := given[p.Name]
		if !ok {
			out[p.Name] = p.Default
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
			errs = append(errs, fmt.Errorf("no parameter %q; valid: %s", name, paramNames(known)))
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

func paramNames(known []Param) string {
	var out []string
	for _, p := range known {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}
