package reports

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestSchemaIsThatOfTheType(t *testing.T) {
	s, err := newSchema()
	must(t, err)
	want, err := JSON(s)
	must(t, err)
	if *update {
		must(t, os.WriteFile("report.schema.json", want, 0o644))
		return
	}
	if diff := cmp.Diff(string(want), string(Schema)); diff != "" {
		t.Errorf("report.schema.json is not that of the type; go test ./reports -run Schema -update writes it anew (-type +file):\n%s", diff)
	}
}

func TestReportFitsItsSchema(t *testing.T) {
	for _, x := range []runtest.Run{{}, {Lossy: true}, {Lossy: true, Seconds: 1}} {
		dir := x.Record(t, t.TempDir())
		_, err := Finish(dir, runtest.Key)
		must(t, err)
		_, err = AddWords(dir, Words{Title: "It forgets", CodePaths: []string{"src/store.rs"}})
		must(t, err)
		validate(t, filepath.Join(dir, ReportFile))
	}
}

func validate(t *testing.T, path string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	must(t, err)
	c := jsonschema.NewCompiler()
	must(t, c.AddResource("report.schema.json", doc))
	schema, err := c.Compile("report.schema.json")
	must(t, err)
	content, err := os.ReadFile(path)
	must(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	must(t, err)
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s does not fit the published schema: %v", path, err)
	}
	var r Report
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Errorf("%s does not read back: %v", path, err)
	}
}
