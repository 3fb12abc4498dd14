package cluster

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/gorilla/websocket"
)

// dial opens a connection for a probe. It trusts whoever answers: whether
// certificates are right is for clients to find out.
func dial(ctx context.Context, transport, address string) (net.Conn, error) {
	anyone := &tls.Config{InsecureSkipVerify: true}
	switch transport {
	case transportTLS:
		dialer := tls.Dialer{Config: anyone}
		return dialer.DialContext(ctx, "tcp", address)
	case transportWS, transportWSS:
		dialer := websocket.Dialer{TLSClientConfig: anyone, Subprotocols: []string{"mqtt"}}
		conn, _, err := dialer.DialContext(ctx, transport+"://"+address+"/mqtt", nil)
		if err != nil {
			return nil, err
		}
		return frames{conn.NetConn(), conn}, nil
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}

// frames are a WebSocket connection of a peer that sends whole packets, one a
// frame, as what answers a probe does.
type frames struct {
	net.Conn
	ws *websocket.Conn
}

func (f frames) Read(b []byte) (int, error) {
	_, frame, err := f.ws.ReadMessage()
	return copy(b, frame), err
}

func (f frames) Write(b []byte) (int, error) {
	return len(b), f.ws.WriteMessage(websocket.BinaryMessage, b)
}
