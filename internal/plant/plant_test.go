package plant

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	names, itself := []string{"drop", "damage"}, func(name string) string { return name }
	for asked, want := range map[string]string{"drop": "drop/25", "damage/1000": "damage/1000"} {
		found, every, err := Find(asked, names, itself)
		if err != nil || Name(found, every) != want {
			t.Errorf("%s: %s, %d, %v", asked, found, every, err)
		}
	}
	for asked, want := range map[string]string{"": "there are drop, damage", "dro": "there are", "drop/0": "at least 1", "drop/often": "at least 1", "drop/": "drop/1000"} {
		if _, _, err := Find(asked, names, itself); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", asked, err, want)
		}
	}
}

func TestRate(t *testing.T) {
	r := Once(3)
	for i := 1; i <= 3*most+30; i++ {
		if hit := r.Hits(); hit != (i%3 == 0 && i <= 3*most) {
			t.Errorf("time %d: %v", i, hit)
		}
	}
	if r.Shown() != most || r.Shows() {
		t.Errorf("shown %d times", r.Shown())
	}
}
