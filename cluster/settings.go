package cluster

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A setting is a key of a broker's own configuration that may be set: the
// vendor's value, a bool or an int, which gives the setting its type, and the
// range of an int. Ranges are those that the broker documents or that its own
// type has.
type setting struct {
	vendor      any
	least, most int
}

// flavorSettings are those of a flavor, by their keys. Keys that name files, load
// code or hold a secret are never among them.
type flavorSettings map[string]setting

// Ranges that several settings share.
const (
	mostThreads = 1024
	mostExact   = 1 << 53 // what JSON carries without losing a digit
)

func flag(vendor bool) setting { return setting{vendor: vendor} }

func count(vendor, least, most int) setting { return setting{vendor, least, most} }

// vendors are the vendor's values.
func (s flavorSettings) vendors() map[string]any {
	values := make(map[string]any, len(s))
	for key, one := range s {
		values[key] = one.vendor
	}
	return values
}

// CheckFits says what is given that a configuration's flavor has no use for, or does
// not take. Where no flavor is given a scenario may name one, which is never external.
func CheckFits(config Config) error {
	if err := checkLogin(config); err != nil || config.Flavor == "" {
		return err
	}
	_, _, err := named(Config{Flavor: config.Flavor, Document: config.Document, Settings: config.Settings})
	return err
}

func checkLogin(config Config) error {
	if !config.Foreign() && (config.Username != "" || !config.Password.IsZero()) {
		return errors.New("username and password are for the flavor external, and this program's own nodes have none; leave them out")
	}
	return nil
}

// typed returns the given values in the types of the settings: a whole number that
// came as JSON is an int. It refuses keys and values that the flavor does not have:
// brokers tend to ignore unknown keys and to clamp or misread values, and a setting
// without effect is a wrong result. The value of a refused key is not quoted.
func (s flavorSettings) typed(flavor string, given map[string]any) (map[string]any, error) {
	if len(given) == 0 {
		return nil, nil
	}
	if len(s) == 0 {
		return nil, fmt.Errorf("%s takes no settings; leave them out", flavor)
	}
	values := make(map[string]any, len(given))
	for _, key := range slices.Sorted(maps.Keys(given)) {
		one, known := s[key]
		if !known {
			return nil, fmt.Errorf("%s has no setting %q; it has %s", flavor, quotable(key), strings.Join(slices.Sorted(maps.Keys(s)), ", "))
		}
		value, ok := one.typed(given[key])
		if !ok {
			return nil, fmt.Errorf("setting %s of %s is %s, expected %s", key, flavor, quotable(fmt.Sprintf("%#v", given[key])), one)
		}
		values[key] = value
	}
	return values, nil
}

func (s setting) typed(given any) (any, bool) {
	if _, wantsBool := s.vendor.(bool); wantsBool {
		value, ok := given.(bool)
		return value, ok
	}
	n := 0
	switch v := given.(type) {
	case int:
		n = v
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > mostExact {
			return nil, false
		}
		n = int(v)
	default:
		return nil, false
	}
	return n, n >= s.least && n <= s.most
}

// String says what may be given.
func (s setting) String() string {
	if _, wantsBool := s.vendor.(bool); wantsBool {
		return "true or false"
	}
	return fmt.Sprintf("a whole number from %d to %d", s.least, s.most)
}

// quotable cuts what is quoted of a caller's own words.
func quotable(text string) string { return fmt.Sprintf("%.64s", text) }
