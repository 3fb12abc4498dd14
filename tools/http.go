package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/semaphore"

	"github.com/robustmq/rmq-mcp/internal/secret"
)

// HTTPOptions say who may speak to a server over HTTP.
type HTTPOptions struct {
	Token   secret.Text // bearer token; none lets anybody in
	Origins []string    // beside those of the loopback; what a browser sends
	Hosts   []string    // beside the loopback's names; what a request's Host may be
}

const (
	bodyBound   = 30 * time.Second // for a body to arrive
	mostConns   = 256
	mostHeader  = 32 << 10
	sessionIdle = 30 * time.Minute
	heartbeat   = time.Minute // of a client that listens, so that its session is not idle
	// Path is where MCP is served.
	Path = "/mcp"
)

// Handler serves MCP over streamable HTTP, behind the checks that mcp-go
// leaves to its user.
func (s *Server) Handler(o HTTPOptions) http.Handler {
	begun := newSessions()
	stream := server.NewStreamableHTTPServer(s.mcp,
		server.WithSessionIdManager(begun),
		server.WithSessionIdleTTL(sessionIdle),
		server.WithHeartbeatInterval(heartbeat),
		server.WithDisableLocalhostProtection(true), // guard checks the Host on every address
	)
	mux := http.NewServeMux()
	mux.Handle(Path, begun.guard(stream))
	return guard(o, mux)
}

// ServeHTTP serves on a listener until ctx ends, then ends what is in flight.
func (s *Server) ServeHTTP(ctx context.Context, listener net.Listener, o HTTPOptions) error {
	web := &http.Server{
		Handler:           s.Handler(o),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    mostHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(netutil.LimitListener(listener, mostConns)) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve HTTP on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	// A stream that a client holds open has no end of its own.
	if err := web.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// guard refuses foreign requests before they are read: one with a foreign Host
// or Origin (a page in a browser that found the port), one without the token,
// and one with a body that is too large.
func guard(o HTTPOptions, next http.Handler) http.Handler {
	pending := semaphore.NewWeighted(mostPending)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !allowedHost(r.Host, o.Hosts):
			refuseHTTP(w, http.StatusForbidden, fmt.Sprintf("host %q is not served here; start the server with --host to allow it", r.Host))
		case !allowedOrigin(r.Header.Get("Origin"), o.Origins):
			refuseHTTP(w, http.StatusForbidden, fmt.Sprintf("origin %q is not allowed; start the server with --origin to allow it", r.Header.Get("Origin")))
		case !allowedToken(r.Header.Get("Authorization"), o.Token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuseHTTP(w, http.StatusUnauthorized, "send the header `Authorization: Bearer TOKEN`; the server printed the token, or reads it from --token-file or RMQ_MCP_TOKEN")
		case !slices.Contains(methods, r.Method):
			w.Header().Set("Allow", strings.Join(methods, ", "))
			refuseHTTP(w, http.StatusMethodNotAllowed, r.Method+" is not taken here; POST sends a message, GET listens, DELETE ends a session")
		case r.ContentLength > mostMessage:
			refuseBody(w)
		default:
			limited(w, r, pending, next)
		}
	})
}

// methods are those of streamable HTTP.
var methods = []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodHead}

// limited reads the body before the handler sees it, because a body whose
// length is not declared is only found too large in reading. The memory for all
// bodies together is bounded: a request waits for its turn.
func limited(w http.ResponseWriter, r *http.Request, pending *semaphore.Weighted, next http.Handler) {
	if r.Body == nil || r.Method != http.MethodPost {
		next.ServeHTTP(w, r)
		return
	}
	size := r.ContentLength
	if size < 0 {
		size = mostMessage
	}
	if pending.Acquire(r.Context(), size) != nil {
		return // the client is gone
	}
	defer func() { pending.Release(size) }()
	reading := http.NewResponseController(w)
	_ = reading.SetReadDeadline(time.Now().Add(bodyBound)) // not every writer of a test has one
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostMessage))
	_ = reading.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuseBody(w)
	case err != nil:
		refuseHTTP(w, http.StatusBadRequest, "the body could not be read: "+err.Error())
	default:
		if _, refused := parseMessage(body); refused != nil {
			answerHTTP(w, http.StatusBadRequest, refused)
			return
		}
		pending.Release(size - int64(len(body)))
		size = int64(len(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	}
}

func refuseBody(w http.ResponseWriter) {
	refuseHTTP(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d KiB", mostMessage>>10))
}

func refuseHTTP(w http.ResponseWriter, status int, why string) {
	answerHTTP(w, status, refuse(nil, codeInvalid, why))
}

func answerHTTP(w http.ResponseWriter, status int, refused []byte) {
	w.Header().Set("Connection", "close") // what it still sends is not waited for
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(refused)
}

func allowedHost(host string, more []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return loopback(name) || slices.Contains(more, name) || slices.Contains(more, host)
}

// allowedOrigin takes requests that no browser made, and those of pages on
// this machine.
func allowedOrigin(origin string, more []string) bool {
	if origin == "" || slices.Contains(more, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && loopback(u.Hostname())
}

func loopback(name string) bool {
	name = strings.Trim(name, "[]")
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

// allowedToken compares digests, so that neither the token's content nor its
// length shows in the time it takes.
func allowedToken(header string, token secret.Text) bool {
	if token.IsZero() {
		return true
	}
	scheme, given, _ := strings.Cut(header, " ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token.Reveal()))
	return strings.EqualFold(scheme, "bearer") && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
