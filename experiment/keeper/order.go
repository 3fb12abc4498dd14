package keeper

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/robustmq/rmq-mcp/internal/secret"
)

// An order is what a guard, and then its keeper, is told on standard input:
// not in its arguments, where everyone could read a password.
type order struct {
	ID        string   `json:"id"`
	StateDir  string   `json:"state_dir"`
	Self      []string `json:"self"`
	Isolation string   `json:"isolation"` // to the guard "": the best there is
	Contained bool     `json:"contained"` // the keeper is process 1 of a pid namespace
	Alone     bool     `json:"alone"`     // as of [SpawnOptions]
	Guard     Process  `json:"guard"`
	Start     Start    `json:"start"`
	Password  string   `json:"password,omitempty"` // of Start's cluster, which would not tell it
}

// newOrder is an order that starts an experiment.
func newOrder(start Start) order {
	return order{Start: start, Password: start.Cluster.Password.Reveal()}
}

func readOrder(r io.Reader) (order, error) {
	var o order
	if err := json.NewDecoder(r).Decode(&o); err != nil {
		return o, fmt.Errorf("read order on standard input: %w; this command is rmq-mcp's own, run `rmq-mcp run` instead", err)
	}
	o.Start.Cluster.Password = secret.NewText(o.Password)
	return o, nil
}

// A word is one line of what a keeper says to its guard, and a guard to
// whoever started it.
type word struct {
	Say  string `json:"say"`
	Text string `json:"text,omitempty"`
}

const (
	sayBeat   = "beat"   // the keeper is alive
	sayReady  = "ready"  // its socket answers
	sayDenied = "denied" // the host does not allow this isolation; Text says what
	sayError  = "error"  // the experiment could not be; Text says why
	sayGone   = "gone"   // the keeper ended; Text says how. The guard says this to itself
)

// A wordWriter writes words.
type wordWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// mostWord is how long a word's text may be, in bytes: escaped as JSON it is shorter
// than the longest line of a scanner.
const mostWord = 8 << 10

// say writes a word. That nobody listens is not the speaker's concern.
func (m *wordWriter) say(what, text string) {
	if len(text) > mostWord {
		text = strings.ToValidUTF8(text[:mostWord], "") + "…"
	}
	line, err := json.Marshal(word{what, text})
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.w.Write(append(line, '\n'))
}

// outlivePipes makes a write to a pipe that nobody reads an error, standard
// output included. Children do not inherit that, as they would an ignored
// signal.
func outlivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
