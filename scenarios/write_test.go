package scenarios

import (
	"reflect"
	"strings"
	"testing"
)

// Every scenario of the library reads as the same after it was written.
func TestMarkdownReadsTheSame(t *testing.T) {
	all, err := Library()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		text, err := s.Markdown()
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		got, err := Parse(s.Name, text)
		if err != nil {
			t.Errorf("%s: %v\n%s", s.Name, err, text)
			continue
		}
		got.Text, got.SHA = s.Text, s.SHA
		if !reflect.DeepEqual(got, s) {
			t.Errorf("%s reads as another:\n%s", s.Name, text)
		}
	}
}

func TestAlone(t *testing.T) {
	s, err := Load("mqtt/broker-kill-9")
	if err != nil {
		t.Fatal(err)
	}
	for _, tier := range []string{"smoke", "hardening"} {
		want, err := s.Tier(tier, "robustmq")
		if err != nil {
			t.Fatal(err)
		}
		alone, err := s.Alone(tier, "robustmq")
		if err != nil {
			t.Fatal(err)
		}
		text, err := alone.Markdown()
		if err != nil {
			t.Fatal(err)
		}
		read, err := Parse("alone", text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read.Tier("", "robustmq"); err != nil || got != want {
			t.Errorf("%s: %+v, want %+v, %v", tier, got, want, err)
		}
		alone.Schedule[0].Target = "node-9"
		if _, err := alone.Markdown(); err == nil || !strings.Contains(err.Error(), "node-9") {
			t.Errorf("a node that the cluster does not have: %v", err)
		}
	}
	if s.Schedule[0].Target != "leader" {
		t.Errorf("the scenario itself changed: %s", s.Schedule[0].Target)
	}
	if _, err := s.Alone("nightly", "robustmq"); err == nil {
		t.Error("a tier that there is not")
	}
}
