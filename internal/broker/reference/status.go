package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/nats-io/nats-server/v2/server"
)

// Status is what a node says of itself and of its cluster, on /status.
type Status struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Build   string            `json:"build,omitempty"`   // of the program that it is part of
	Members []string          `json:"members,omitempty"` // nodes it is connected with, itself included, by name
	Config  map[string]string `json:"config,omitempty"`  // settings that it runs with
	Ready   bool              `json:"ready"`             // it knows who leads the metadata, and has caught up with it
	Peers   int               `json:"peers"`             // nodes it is connected with, itself included
	Meta    string            `json:"meta,omitempty"`    // the node that leads the metadata
	Streams map[string]string `json:"streams,omitempty"` // MQTT stream → the node that leads it, as this node sees it
}

// MessageStream is the stream that holds every MQTT message of QoS 1 and 2.
const MessageStream = "$MQTT_msgs"

func handler(s *server.Server, config Config, lists http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /api/mq9/", lists)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		status, err := statusOf(s, config)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(status)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		if err := writeMetrics(w, s); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}

func statusOf(s *server.Server, config Config) (Status, error) {
	st := Status{Name: config.Name, Version: Version, Build: config.Build, Peers: 1, Streams: map[string]string{}}
	st.Config = settingsOf(s)
	info, err := s.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return st, err
	}
	if info.Disabled {
		return st, nil
	}
	for _, account := range info.AccountDetails {
		for _, stream := range account.Streams {
			st.Streams[stream.Name] = config.Name // a single node leads what it has
			if stream.Cluster != nil {
				st.Streams[stream.Name] = stream.Cluster.Leader
			}
		}
	}
	if len(config.Routes) == 0 {
		st.Meta, st.Ready = config.Name, true
		return st, nil
	}
	st.Peers += s.NumRoutes()
	st.Members = membersOf(s, config.Name)
	if info.Meta != nil {
		st.Meta = info.Meta.Leader
	}
	st.Ready = st.Meta != "" && s.JetStreamIsCurrent()
	return st, nil
}

// Defaults of the server for settings that are 0 in its configuration.
const (
	vendorAckWaitMS     = 30000
	vendorMaxAckPending = 1024
)

// settingsOf are the settings that the server says it runs with, by the names
// of a node's configuration.
func settingsOf(s *server.Server) map[string]string {
	v, err := s.Varz(nil)
	if err != nil {
		return nil
	}
	out := map[string]string{
		"ack_wait_ms":     fmt.Sprint(cmp.Or(v.MQTT.AckWait.Milliseconds(), vendorAckWaitMS)),
		"max_ack_pending": fmt.Sprint(cmp.Or(v.MQTT.MaxAckPending, vendorMaxAckPending)),
	}
	if c := v.JetStream.Config; c != nil {
		out["sync_always"] = fmt.Sprint(c.SyncAlways)
	}
	return out
}

// membersOf are the names of the nodes that a node is connected with, and its
// own.
func membersOf(s *server.Server, self string) []string {
	names := []string{self}
	routes, err := s.Routez(nil)
	if err != nil {
		return nil
	}
	for _, r := range routes.Routes {
		names = append(names, r.RemoteName)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
