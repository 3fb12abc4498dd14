package reference

import (
	"encoding/json"
	"net/http"

	"github.com/nats-io/nats-server/v2/server"
)

// Status is what a node says of itself and of its cluster, on /status.
type Status struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Ready   bool              `json:"ready"`             // it knows who leads the metadata, and has caught up with it
	Peers   int               `json:"peers"`             // nodes it is connected with, itself included
	Meta    string            `json:"meta,omitempty"`    // the node that leads the metadata
	Streams map[string]string `json:"streams,omitempty"` // MQTT stream → the node that leads it, as this node sees it
}

// MessageStream is the stream that holds every MQTT message of QoS 1 and 2.
const MessageStream = "$MQTT_msgs"

func handler(s *server.Server, config Config) http.Handler {
	mux := http.NewServeMux()
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
	st := Status{Name: config.Name, Version: Version, Peers: 1, Streams: map[string]string{}}
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
	if info.Meta != nil {
		st.Meta = info.Meta.Leader
	}
	st.Ready = st.Meta != "" && s.JetStreamIsCurrent()
	return st, nil
}
