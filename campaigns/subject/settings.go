package subject

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
)

// settings are the key=value words of a flag as the values that they stand for: 1 is a
// number, true a boolean, and any other word a text. A flag may have several words,
// separated by commas.
type settings struct{ to *map[string]any }

func (s settings) Set(text string) error {
	words := []string{text}
	if strings.Count(text, "=") > 1 {
		var err error
		if words, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
			return err
		}
	}
	for _, word := range words {
		key, text, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("%s must be formatted as key=value", word)
		}
		if *s.to == nil {
			*s.to = map[string]any{}
		}
		(*s.to)[key] = valueOf(text)
	}
	return nil
}

func valueOf(text string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) == nil && value != nil {
		return value
	}
	return text
}

// Type is that of the flag in pflag with such words.
func (s settings) Type() string { return "stringToString" }

// String is the default in a usage text: none.
func (s settings) String() string { return "" }
