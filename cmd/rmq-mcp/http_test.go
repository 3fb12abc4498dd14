package main

import (
	"bufio"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// served is a server over HTTP, its address and its token.
func served(t testing.TB, dir string, args ...string) (url, token string) {
	t.Helper()
	url, token, _ = servedBy(t, dir, args...)
	return url, token
}

// servedBy is served with the server's process.
func servedBy(t testing.TB, dir string, args ...string) (url, token string, pid int) {
	t.Helper()
	return servedWith(t, dir, "", append([]string{"--http", "127.0.0.1:0"}, args...)...)
}

// servedWith starts a server with these flags alone, and returns its URL, token
// and process id. A server does not print a token that it was given, so the
// caller passes that as token.
func servedWith(t testing.TB, dir, token string, args ...string) (url, _ string, pid int) {
	t.Helper()
	if !slices.Contains(args, "--http") {
		args = append(args, "--http", "127.0.0.1:0")
	}
	cmd := rmq(t, dir, append([]string{"serve"}, args...)...)
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(stderr)
	for (url == "" || token == "") && lines.Scan() {
		if m := regexp.MustCompile(`serving (\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
		if m := regexp.MustCompile(`token (\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			token = m[1]
		}
	}
	if url == "" || token == "" {
		t.Fatalf("the server did not say where it is: %v", lines.Err())
	}
	go io.Copy(io.Discard, stderr)
	return url, token, cmd.Process.Pid
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestHTTPRefuses(t *testing.T) {
	url, token := served(t, t.TempDir())
	tests := []struct {
		name   string
		change func(*http.Request)
		body   io.Reader
		want   int
		says   string
	}{
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, strings.NewReader(listTools), 401, "Authorization: Bearer"},
		{"another token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, strings.NewReader(listTools), 401, "RMQ_MCP_TOKEN"},
		{"a page's origin", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, strings.NewReader(listTools), 403, "evil.example"},
		{"an origin that only looks local", func(r *http.Request) { r.Header.Set("Origin", "http://localhost.evil.example") }, strings.NewReader(listTools), 403, "evil.example"},
		{"a rebound name", func(r *http.Request) { r.Host = "evil.example" }, strings.NewReader(listTools), 403, "evil.example"},
		{"100 MB, declared", func(*http.Request) {}, zeros(100 << 20), 413, "256 KiB"},
		{"100 MB, in chunks", func(r *http.Request) { r.ContentLength = -1 }, zeros(100 << 20), 413, "256 KiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequest("POST", url, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Expect", "100-continue") // so that the answer is read before the body breaks off
			if n, ok := tt.body.(*io.LimitedReader); ok {
				r.ContentLength = n.N
			}
			tt.change(r)
			answer, err := (&http.Transport{ExpectContinueTimeout: 5e9}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != tt.want || !strings.Contains(string(text), tt.says) {
				t.Errorf("%d %s, want %d with %q", answer.StatusCode, text, tt.want, tt.says)
			}
		})
	}
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }
