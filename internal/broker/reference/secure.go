package reference

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// handshakeWait bounds the TLS handshake of a client.
const handshakeWait = 10 * time.Second

// secure opens the node's listeners with TLS. The broker itself has one plain
// listener for MQTT and one for WebSocket. This process ends TLS and passes the bytes
// on to them. It lives and dies with the broker.
func (c Config) secure(ctx context.Context) error {
	if c.TLSPort == 0 && c.WSSPort == 0 {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return fmt.Errorf("read the certificate of %s: %w", c.Name, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	for port, plain := range map[int]int{c.TLSPort: c.MQTTPort, c.WSSPort: c.WSPort} {
		if port == 0 {
			continue
		}
		l, err := tls.Listen("tcp", c.at(port), config)
		if err != nil {
			return fmt.Errorf("open port %d of %s: %w", port, c.Name, err)
		}
		context.AfterFunc(ctx, func() { l.Close() })
		go unwrap(l, c.at(plain))
	}
	return nil
}

func (c Config) at(port int) string { return net.JoinHostPort(c.Host, strconv.Itoa(port)) }

// unwrap passes on every connection to a listener, until that is closed.
func unwrap(l net.Listener, to string) {
	for {
		client, err := l.Accept()
		switch {
		case err == nil:
			go join(client.(*tls.Conn), to)
		case errors.Is(err, net.ErrClosed):
			return
		default: // no descriptors left, or a client that was gone at once
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// join passes on both directions of a connection until either side ends it.
func join(client *tls.Conn, to string) {
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), handshakeWait)
	defer cancel()
	if client.HandshakeContext(ctx) != nil {
		return
	}
	broker, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer broker.Close()
	ended := make(chan struct{}, 2)
	for _, way := range []struct{ from, to net.Conn }{{client, broker}, {broker, client}} {
		go func() {
			io.Copy(way.to, way.from)
			ended <- struct{}{}
		}()
	}
	<-ended
}
