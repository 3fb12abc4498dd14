package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// adminPage is RobustMQ's, of one topic with partitions and their end offsets.
func adminPage(t *testing.T, topic string, ends map[string]int64) *Node {
	t.Helper()
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, data any) {
		text, err := json.Marshal(map[string]any{"code": 0, "data": data})
		if err != nil {
			t.Error(err)
		}
		w.Write(text)
	}
	names := map[string]string{}
	for shard := range ends {
		names[fmt.Sprint(len(names))] = shard
	}
	mux.HandleFunc("GET /api/cluster/topic/list", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"data": []any{
			map[string]any{"topic_name": topic + "/longer", "storage_name_list": map[string]string{"0": "other"}},
			map[string]any{"topic_name": topic, "storage_name_list": names},
		}})
	})
	mux.HandleFunc("POST /api/storage-engine/shard/list", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Shard string `json:"shard_name"`
		}
		json.NewDecoder(r.Body).Decode(&in)
		var rows []any
		if end := ends[in.Shard]; end >= 0 {
			rows = append(rows, map[string]any{"shard_info": map[string]any{"shard_name": in.Shard, "offset": map[string]any{"start_offset": 0, "end_offset": end}}})
		}
		reply(w, map[string]any{"data": rows})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return &Node{name: "node-1", mqtt: "127.0.0.1:1883", http: strings.TrimPrefix(s.URL, "http://")}
}

func TestStored(t *testing.T) {
	for name, test := range map[string]struct {
		of    flavor
		topic string
		ends  map[string]int64
		want  int64
		err   string
	}{
		"one partition":           {robustmq{}, "a/b", map[string]int64{"t-0": 249}, 250, ""},
		"three":                   {robustmq{}, "a/b", map[string]int64{"t-0": 9, "t-1": 19, "t-2": 0}, 31, ""},
		"one that is not listed":  {robustmq{}, "a/b", map[string]int64{"t-0": -1}, 0, "ask node-1 what is stored of a/b: it does not list the partition t-0"},
		"another topic":           {robustmq{}, "c", map[string]int64{"t-0": 9}, 0, "ask node-1 what is stored of c: no such topic"},
		"a flavor without a page": {reference{}, "a/b", nil, 0, "ask what is stored of a/b: reference does not say: not possible here: unsupported operation"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{flavor: test.of}
			c.info.Flavor = "reference"
			got, err := c.Stored(t.Context(), adminPage(t, "a/b", test.ends), test.topic)
			if test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if got != test.want {
				t.Errorf("%d messages, want %d", got, test.want)
			}
		})
	}
}
