package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// browse opens a page in a browser and returns it as the browser has it once its scripts
// have run.
func browse(t *testing.T, url string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), hosttest.Program(t, "chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--dump-dom", url)
	page, err := cmd.Output()
	if err != nil {
		t.Fatalf("open %s: %v", url, err)
	}
	return string(page)
}

// many are runs of several brokers, of which every third fails.
func many(n int) (list []*run) {
	for i := range n {
		r := &run{Page: true, Broker: "robustmq", Held: []string{"qos2-no-loss"}, Faults: []string{"kill"}, Row: reports.Row{
			ID: fmt.Sprintf("1121-%04d-broker-kill-9-%04x", i%2400, i), Scenario: "mqtt/broker-kill-9", Protocol: "mqtt3", SDK: "go/rmq-mcp@1", Flavor: "robustmq", Version: fmt.Sprintf("v0.4.%d", i%12), Nodes: 3,
			Started: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Minute), State: verdict.PassSmoke, Headline: "PASS-smoke: 11 claims hold, and a fault landed on one of three nodes",
		}}
		if i%3 == 0 {
			r.State, r.Severity, r.Failed, r.Headline = verdict.FailOnce, "P0", []string{"qos1-no-loss"}, "FAIL-once: not repeated: 12 messages are lost"
		}
		if i%10 == 0 {
			r.Protocol, r.Scenario, r.Faults = "mq9", "mq9/<b>round</b>trip", nil
		}
		list = append(list, r)
	}
	return list
}

// written is the first page of runs.
func written(t testing.TB, runs []*run) (dir string) {
	t.Helper()
	pages, err := parse()
	must(t, err)
	s, err := newSite("", t.TempDir())
	must(t, err)
	s.pages, s.Runs = pages, runs
	must(t, s.writeList())
	return s.out.Name()
}

var idOnPage = regexp.MustCompile(`<span class="soft">(1121-[^<]*)</span>`)

// The list shows the runs that its address asks for, from a disk and from below a path of a
// server.
func TestListInBrowser(t *testing.T) {
	runs := many(1000)
	dir := written(t, runs)
	server := httptest.NewServer(http.StripPrefix("/below/this/", http.FileServer(http.Dir(dir))))
	defer server.Close()
	disk := "file://" + filepath.ToSlash(dir) + "/index.html"
	for _, c := range []struct {
		at, fragment, says string
		want               func(i int) bool
		rows               int
	}{
		{disk, "", "1 to 100 of 1000 runs", func(int) bool { return true }, 100},
		{disk, "#status=nonsense", "no run of 1000", func(int) bool { return false }, 0},
		{disk, "#version=robustmq+v9", "no run of 1000", func(int) bool { return false }, 0},
		{server.URL + "/below/this/", "#page=10", "901 to 1000 of 1000 runs", func(i int) bool { return i >= 900 }, 100},
		{disk, "#status=fail&protocol=mq9", "1 to 34 of 34 runs, 1000 in all", func(i int) bool { return i%30 == 0 }, 34},
		{disk, "#fails=qos1-no-loss&fault=kill&version=robustmq+v0.4.3", "1 to 84 of 84 runs, 1000 in all", func(i int) bool { return i%12 == 3 }, 84},
		{disk, "#scenario=mq9%2F%3Cb%3Eround%3C%2Fb%3Etrip&text=12+lost", "1 to 34 of 34 runs, 1000 in all", func(i int) bool { return i%30 == 0 }, 34},
		{disk, "#holds=qos2-no-loss&page=99", "901 to 1000 of 1000 runs", func(i int) bool { return i >= 900 }, 100},
		{disk, "#text=nowhere", "no run of 1000", func(int) bool { return false }, 0},
	} {
		page := browse(t, c.at+c.fragment)
		if !strings.Contains(page, ">"+c.says+"<") {
			t.Errorf("%s does not say %q", c.fragment, c.says)
		}
		shown := idOnPage.FindAllStringSubmatch(page, -1)
		if len(shown) != c.rows {
			t.Errorf("%s shows %d runs, want %d", c.fragment, len(shown), c.rows)
		}
		for _, id := range shown {
			if i := slices.IndexFunc(runs, func(r *run) bool { return r.ID == id[1] }); i < 0 || !c.want(i) {
				t.Errorf("%s shows run %d", c.fragment, i)
			}
		}
		if strings.Contains(page, "<b>round</b>") {
			t.Errorf("%s obeys the markup of a name", c.fragment)
		}
	}
}

// A log is searched and turned over as its address says.
func TestLogInBrowser(t *testing.T) {
	pages, err := parse()
	must(t, err)
	s, err := newSite("", t.TempDir())
	must(t, err)
	s.pages = pages
	p := logPage{log: log{Name: "node-1.log"}, Run: &run{}, Up: "../", Data: logData{AtOnce: linesAtOnce}}
	for i := range 2000 {
		p.Data.add(fmt.Sprintf("Line %d <b>says</b> %s", i+1, []string{"little", "Much"}[i%2]), i+1)
	}
	must(t, s.page("node-1.html", "log.html", p))
	url := "file://" + filepath.ToSlash(s.out.Name()) + "/node-1.html"
	for fragment, want := range map[string]struct {
		says, first, chosen string
		lines               int
	}{
		"":                                   {"lines 1 to 500 of 2000", "1", "", 500},
		"#text=much+line&page=2":             {"lines 1002 to 2000, 1000 of 2000", "1002", "", 500},
		"#text=%2F12%5B34%5D%5Cd+%3Cb%3E%2F": {"lines 1230 to 1249, 20 of 2000", "1230", "", 20},
		"#text=%2F(%2F":                      {"no line of 2000", "", "", 0},
		"#line=1207":                         {"lines 1001 to 1500 of 2000", "1001", "1207", 500},
		"#line=9999":                         {"line 9999 is not on this page; the file has it. Here: lines 1 to 500 of 2000", "1", "", 500},
	} {
		page := browse(t, url+fragment)
		shown := regexp.MustCompile(`<li( class="chosen")?><a href="#line=(\d+)">`).FindAllStringSubmatch(page, -1)
		if !strings.Contains(page, ">"+want.says+"<") || len(shown) != want.lines || len(shown) > 0 && shown[0][2] != want.first || strings.Contains(page, "<b>says") {
			t.Errorf("%q shows %d lines, and not %q", fragment, len(shown), want.says)
		}
		for _, l := range shown {
			if (l[1] != "") != (l[2] == want.chosen) {
				t.Errorf("%q chooses line %s", fragment, l[2])
			}
		}
	}
}

// BenchmarkListInBrowser is the first view of ten thousand runs, the start of the browser
// included; an empty list says how much of it that is.
func BenchmarkListInBrowser(b *testing.B) {
	for _, n := range []int{0, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			url := "file://" + filepath.ToSlash(written(b, many(n))) + "/index.html"
			for b.Loop() {
				if err := exec.Command(hosttest.Program(b, "chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+b.TempDir(), "--dump-dom", url).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
