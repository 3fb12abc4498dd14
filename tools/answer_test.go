package tools

import (
	"encoding/json"
	"testing"
)

func TestNeverNullIsLegible(t *testing.T) {
	at := 30.189262255
	text, err := json.Marshal(neverNull(struct {
		List   []string
		Map    map[string]int
		At     *float64
		Series [][2]float64
		Big    float64
	}{At: &at, Series: [][2]float64{{2.8864429769999997, 0.9099999999999999}}, Big: 50638848}))
	if want := `{"List":[],"Map":{},"At":30.189,"Series":[[2.886,0.91]],"Big":50638848}`; err != nil || string(text) != want {
		t.Errorf("%s, %v\nwant %s", text, err, want)
	}
}
