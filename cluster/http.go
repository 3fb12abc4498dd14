package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/robustmq/rmq-mcp/internal/secret"
)

const (
	pageBound = 2 * time.Second
	pageBytes = 16 << 20
)

// call asks a node's own HTTP page. A body makes it a POST of JSON; a token
// that is not empty is sent along.
func call(ctx context.Context, address, path, token string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pageBound)
	defer cancel()
	method, content := http.MethodGet, io.Reader(nil)
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		method, content = http.MethodPost, bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	// A connection of its own: one that was kept would outlive a node's restart.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, pageBytes))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s: %.200s", path, resp.Status, secret.New().Text(string(b)))
	}
	return b, nil
}

func getJSON(ctx context.Context, address, path string, into any) error {
	b, err := call(ctx, address, path, "", nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
