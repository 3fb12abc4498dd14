package tools

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// sessions are those that HTTP clients began with initialize, as protocols before
// 2026-07-28 have them. An id that was invented, or whose session was ended, is none.
type sessions struct {
	mu   sync.Mutex
	used map[string]time.Time // by id
}

const mostSessions = 256

var errNoSession = errors.New("no such session")

func newSessions() *sessions { return &sessions{used: map[string]time.Time{}} }

// Generate begins a session.
func (s *sessions) Generate() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := rand.Text()
	s.used[id] = time.Now()
	return id
}

// Validate is nil for a session that was begun and has not ended.
func (s *sessions) Validate(id string) (terminated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, begun := s.used[id]; !begun {
		return false, errNoSession
	}
	s.used[id] = time.Now()
	return false, nil
}

// Terminate ends a session.
func (s *sessions) Terminate(id string) (notAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.used, id)
	return false, nil
}

// guard lets requests of a session through, those that begin one, and those of a
// protocol that has none.
func (s *sessions) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead || !needsSession(r) {
			if r.Method == http.MethodPost {
				s.makeRoom(next)
			}
			next.ServeHTTP(w, r)
			return
		}
		id := r.Header.Get(server.HeaderKeySessionID)
		if id == "" {
			refuseHTTP(w, http.StatusBadRequest, "send the header "+server.HeaderKeySessionID+" that initialize was answered with")
			return
		}
		if _, err := s.Validate(id); err != nil {
			refuseHTTP(w, http.StatusNotFound, "no such session: it was ended, or never begun; send initialize")
			return
		}
		next.ServeHTTP(w, r)
		_, _ = s.Validate(id) // a long call was use, too
	})
}

// makeRoom ends the sessions that were unused for longest, of too many, as their
// clients would: mcp-go keeps something of each until then.
func (s *sessions) makeRoom(next http.Handler) {
	for _, id := range s.beyond(mostSessions - 1) {
		end, err := http.NewRequest(http.MethodDelete, Path, nil)
		if err != nil {
			return // of a constant address
		}
		end.Header.Set(server.HeaderKeySessionID, id)
		next.ServeHTTP(nowhere{}, end)
	}
}

// beyond are the sessions that were unused for longest, all but so many.
func (s *sessions) beyond(most int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Collect(maps.Keys(s.used))
	if len(ids) <= most {
		return nil
	}
	slices.SortFunc(ids, func(a, b string) int { return s.used[a].Compare(s.used[b]) })
	return ids[:len(ids)-most]
}

// nowhere takes an answer that nobody reads.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// needsSession looks at a request, whose body it leaves as it was.
func needsSession(r *http.Request) bool {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		return false
	}
	if r.Method != http.MethodPost || r.Body == nil {
		return true
	}
	body, err := io.ReadAll(r.Body) // of bounded size, and in memory
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		Method string `json:"method"`
		Params struct {
			Meta *mcp.Meta `json:"_meta"`
		} `json:"params"`
	}
	if err != nil || json.Unmarshal(body, &m) != nil {
		return false // it is refused for that
	}
	return m.Method != string(mcp.MethodInitialize) && !mcp.IsModernProtocol(m.Params.Meta.ProtocolVersion())
}
