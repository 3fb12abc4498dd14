package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// forward turns the request's connection into one to a port of a node.
func (s *server) forward(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	port, err := strconv.Atoi(query.Get("port"))
	if err != nil {
		reply(w, nil, fmt.Errorf("forward to %s: port: %w", query.Get("node"), err))
		return
	}
	node, err := s.exp.Forward(r.Context(), query.Get("node"), port)
	if err != nil {
		reply(w, nil, err)
		return
	}
	defer node.Close()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		reply(w, nil, fmt.Errorf("forward to %s: %w", query.Get("node"), err))
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"); err != nil {
		return
	}
	join(&bufferedConn{conn, buffered.Reader}, node)
}

// Forward dials a port of a node from inside the experiment.
func (c *Client) Forward(ctx context.Context, node string, port int) (net.Conn, error) {
	conn, err := dialSocket(ctx, c.info.Socket)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	in, err := upgrade(conn, node, port)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, c.lost(ctx, err)
	}
	return &bufferedConn{conn, in}, nil
}

func upgrade(conn net.Conn, node string, port int) (*bufio.Reader, error) {
	target := url.URL{Scheme: "http", Host: "keeper", Path: "/forward"}
	target.RawQuery = url.Values{"node": {node}, "port": {strconv.Itoa(port)}}.Encode()
	req, err := http.NewRequest("POST", target.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "tcp")
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		var f failure
		if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
			return nil, err
		}
		return nil, answerError{errors.New(f.Error)}
	}
	return in, nil
}

// A bufferedConn is a connection of which some was read ahead.
type bufferedConn struct {
	net.Conn
	in *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// CloseWrite ends one direction, where the connection can.
func (c *bufferedConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// join copies both ways until both have ended.
func join(a, b net.Conn) {
	done := make(chan struct{})
	go func() {
		io.Copy(a, b)
		closeWrite(a)
		close(done)
	}()
	io.Copy(b, a)
	closeWrite(b)
	<-done
}
