package reports

import (
	_ "embed"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the JSON Schema of report.json, as published beside the code.
//
//go:embed report.schema.json
var Schema []byte

// newSchema makes the schema from the type.
func newSchema() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[Report](nil)
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.ID = "https://github.com/robustmq/rmq-mcp/reports/report.schema.json"
	s.Title = "rmq-mcp report"
	s.Description = "All about one run: the faults and load on a broker, the record, and the verdict that follows."
	return s, nil
}
