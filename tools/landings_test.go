package tools

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestLandingsAreShortUntilOneIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run-1")
	var samples []string
	for i := range 500 {
		moment := []string{"before", "during"}[i/250]
		samples = append(samples, fmt.Sprintf(`{"moment":%q,"t_ns":%d,"ok":true,"value":%d}`, moment, i, i))
	}
	writeRun(t, dir, map[string]string{
		"evidence/run.json": `{"format":1,"id":"run-1"}`,
		"evidence/landings.json": `{"format":1,"landings":[{"fault":"f1","type":"packet_loss","target":"leader","nodes":["node-2"],"mechanism":"nfqueue","state":"landed",` +
			`"proofs":[{"name":"dropped packets","role":"mechanism","want":"grows","unit":"packets","holds":true,"samples":[` + strings.Join(samples, ",") + `]}]}]}`,
	})
	all, err := landings(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(all)
	if len(text) > 1000 || !strings.Contains(string(text), "250 packets … 499 packets (250 samples)") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	one, err := landings(dir, "f1")
	if err != nil || one.One == nil || len(one.One.Proofs[0].Samples) != 500 {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := landings(dir, "f2"); err == nil || !strings.Contains(err.Error(), "without \"at\" lists them") {
		t.Error(err)
	}
}
