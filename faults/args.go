package faults

import (
	"encoding/json"
	"fmt"
)

// argsOf are an entry's arguments as a layer's own type: as they were planned, or as JSON left
// them in a journal. An entry without arguments has the zero value.
func argsOf[T any](e Entry) (args T, err error) {
	if args, ok := e.Args.(T); ok || e.Args == nil {
		return args, nil
	}
	text, err := json.Marshal(e.Args)
	if err == nil {
		err = json.Unmarshal(text, &args)
	}
	if err != nil {
		return args, fmt.Errorf("read what %s wants of %s: %w", e.Fault, e.Layer, err)
	}
	return args, nil
}
