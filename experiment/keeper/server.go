package keeper

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// shutdownBound is how long answers under way may take when all is over.
const shutdownBound = 2 * time.Second

// A server serves one experiment over HTTP, as long as it runs:
//
//	GET  /status?wait_s=   Status, at the latest after wait_s, earlier when it is ready or over
//	GET  /progress         Progress, a line of JSON each
//	GET  /presence         stays open: somebody is there
//	POST /inject /heal /client /logs /metrics /journal /stop
//	POST /forward?node=&port=   becomes a connection to the node
//
// An error is {"error": "…"} with status 422.
type server struct {
	exp      Experiment
	http     *http.Server
	presence *presence
	done     chan struct{} // closed when the experiment is over
}

func newServer(exp Experiment, start Start, log *slog.Logger) *server {
	s := &server{exp: exp, done: make(chan struct{})}
	s.presence = newPresence(exp, start, log)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", s.status)
	mux.HandleFunc("GET /progress", s.progress)
	mux.HandleFunc("GET /presence", s.attend)
	mux.HandleFunc("POST /inject", act(s.inject))
	mux.HandleFunc("POST /heal", act(exp.Heal))
	mux.HandleFunc("POST /client", act(exp.RunClient))
	mux.HandleFunc("POST /stop", act(s.stop))
	mux.HandleFunc("POST /journal", act(s.journal))
	mux.HandleFunc("POST /logs", look(exp.Logs))
	mux.HandleFunc("POST /metrics", look(exp.Metrics))
	mux.HandleFunc("POST /forward", s.forward)
	s.http = &http.Server{Handler: mux, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	return s
}

// over answers whoever waits and closes the socket.
func (s *server) over() {
	close(s.done)
	s.presence.end()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownBound)
	defer cancel()
	s.http.Shutdown(ctx)
}

// status answers at once without wait_s. A hand-driven experiment that is
// ready waits for calls, and so for nothing that one could wait for.
func (s *server) status(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if wait, err := strconv.ParseFloat(r.URL.Query().Get("wait_s"), 64); err == nil && wait > 0 {
		s.await(ctx, time.Duration(wait*float64(time.Second)))
	}
	st := s.exp.Status(ctx)
	st.Live = !s.isOver()
	reply(w, st, nil)
}

func (s *server) await(ctx context.Context, bound time.Duration) {
	lines, stop := s.exp.Progress()
	defer stop()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for phase := s.exp.Status(ctx).Phase; phase != history.PhaseReady; {
		select {
		case p, ok := <-lines:
			if !ok {
				lines = nil // the rest comes from done
				continue
			}
			phase = p.Phase
		case <-s.done:
			return
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		}
	}
}

func (s *server) isOver() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *server) progress(w http.ResponseWriter, r *http.Request) {
	lines, stop := s.exp.Progress()
	defer stop()
	out := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	flush.Flush()
	for {
		select {
		case p, ok := <-lines:
			if !ok {
				return
			}
			if out.Encode(p) != nil || flush.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.done:
			sendRest(out, lines)
			return
		}
	}
}

// sendRest sends the lines that were there when the experiment ended.
func sendRest(out *json.Encoder, lines <-chan Progress) {
	for {
		select {
		case p, ok := <-lines:
			if !ok || out.Encode(p) != nil {
				return
			}
		default:
			return
		}
	}
}

// attend holds a presence for as long as the connection lives.
func (s *server) attend(w http.ResponseWriter, r *http.Request) {
	s.presence.come()
	defer s.presence.leave()
	http.NewResponseController(w).Flush()
	select {
	case <-r.Context().Done():
	case <-s.done:
	}
}

func (s *server) inject(ctx context.Context, ask Inject) (FaultStatus, error) {
	defer s.presence.act()()
	return s.exp.Inject(ctx, ask)
}

func (s *server) stop(ctx context.Context, caller Caller) (Status, error) {
	return s.exp.Stop(ctx, caller)
}

// An answered is a call and what it was answered, for the journal.
type answered struct {
	Caller Caller `json:"caller"`
	Answer any    `json:"answer"`
}

func (s *server) journal(ctx context.Context, a answered) (struct{}, error) {
	return struct{}{}, s.exp.Journal(ctx, a.Caller, a.Answer)
}

// act serves a call that changes the experiment. It is carried out to its end
// even if the caller is gone: the run belongs to its keeper.
func act[Ask, Answer any](do func(context.Context, Ask) (Answer, error)) http.HandlerFunc {
	return look(func(ctx context.Context, ask Ask) (Answer, error) {
		return do(context.WithoutCancel(ctx), ask)
	})
}

// look serves a call that changes nothing.
func look[Ask, Answer any](do func(context.Context, Ask) (Answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var ask Ask
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
			reply(w, nil, fmt.Errorf("read request %s: %w", r.URL.Path, err))
			return
		}
		answer, err := do(r.Context(), ask)
		reply(w, answer, err)
	}
}

// A failure is how an error travels.
type failure struct {
	Error string `json:"error"`
}

func reply(w http.ResponseWriter, answer any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		answer = failure{err.Error()}
	}
	json.NewEncoder(w).Encode(answer)
}
