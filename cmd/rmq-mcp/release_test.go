package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestBrokerVersion runs a release of a site of its own: one that is not
// there, and one whose broker says its name and ends.
func TestBrokerVersion(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the broker is a shell script")
	}
	archive := releaseOf(t, "v9.9.9", "#!/bin/sh\necho I am v9.9.9 with $1\nexit 1\n")
	name := "/v9.9.9/robustmq-v9.9.9-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case name:
			w.Write(archive)
		case name + ".sha256":
			fmt.Fprintf(w, "%x\n", sha256.Sum256(archive))
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	dir := t.TempDir()
	for version, want := range map[string]string{"v9.9.9": "I am v9.9.9 with --conf=", "v9.9.8": "choose another version", "newest": "not like v0.4.11"} {
		for _, command := range [][]string{{"run", "mqtt/qos-roundtrip", "--nodes", "1"}, {"conformance", "--flavor", "robustmq"}, {"run", "mqtt/random", "--flavor", "robustmq", "--nodes", "1", "--seed", "5"}} {
			cmd := rmq(t, dir, append(command, "--broker-version", version)...)
			cmd.Env = append(cmd.Environ(), "RMQ_ROBUSTMQ_RELEASES="+site.URL)
			cmd.Stderr = nil
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%s %s: %v, expected %q:\n%s", command[0], version, err, want, out)
			}
		}
	}

	// An agent has an envelope, which allows no binary by its path.
	t.Cleanup(func() { stopAll(t, dir) })
	server := rmq(t, dir, "serve")
	server.Env = append(server.Environ(), "RMQ_ROBUSTMQ_RELEASES="+site.URL)
	a := connectAgent(t, &mcp.CommandTransport{Command: server})
	result, err := a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "cluster_start", Arguments: map[string]any{
		"nodes": 1, "config": map[string]any{"flavor": "robustmq", "version": "v9.9.9"}}})
	if err != nil {
		t.Fatal(err)
	}
	if text := result.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, "I am v9.9.9 with --conf=") {
		t.Errorf("an agent's cluster of a version: %s", text)
	}
}

func releaseOf(t *testing.T, version, broker string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	path := "robustmq-" + version + "-" + runtime.GOOS + "-" + runtime.GOARCH + "/libs/broker-server"
	if err := archive.WriteHeader(&tar.Header{Name: path, Mode: 0o755, Size: int64(len(broker))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(broker)); err != nil {
		t.Fatal(err)
	}
	archive.Close()
	zip.Close()
	return out.Bytes()
}
