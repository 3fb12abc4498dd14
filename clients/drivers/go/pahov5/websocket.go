package pahov5

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"time"

	"github.com/gorilla/websocket"
)

// WebSocket connects as the SDK's autopaho does: the connection is a stream of bytes.
func WebSocket(ctx context.Context, url string, trust *tls.Config) (net.Conn, error) {
	dialer := websocket.Dialer{TLSClientConfig: trust, Subprotocols: []string{"mqtt"}}
	conn, _, err := dialer.DialContext(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	return &frames{Conn: conn}, nil
}

// frames are a WebSocket connection as a stream of bytes.
type frames struct {
	*websocket.Conn
	rest io.Reader // of the frame that is being read
}

func (f *frames) Read(b []byte) (int, error) {
	for {
		if f.rest == nil {
			_, next, err := f.NextReader()
			if err != nil {
				return 0, err
			}
			f.rest = next
		}
		n, err := f.rest.Read(b)
		if err == io.EOF {
			f.rest = nil
			if n == 0 {
				continue
			}
			err = nil
		}
		return n, err
	}
}

func (f *frames) Write(b []byte) (int, error) {
	if err := f.WriteMessage(websocket.BinaryMessage, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (f *frames) SetDeadline(t time.Time) error {
	if err := f.SetReadDeadline(t); err != nil {
		return err
	}
	return f.SetWriteDeadline(t)
}
