package clients_test

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"testing"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/certificate"
)

// everyListener starts a broker that listens on every transport. It answers the
// addresses by transport, and the file of the certificate to trust.
func everyListener(t testing.TB) (at map[string]string, ca string) {
	t.Helper()
	files, err := certificate.Write(t.TempDir(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	plain, encrypted := listen(t), listen(t)
	at = map[string]string{
		contract.TCP: plain.Addr().String(), contract.TLS: encrypted.Addr().String(),
		contract.WS: freeAddress(t), contract.WSS: freeAddress(t),
	}
	s := mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})
	err = errors.Join(
		s.AddHook(new(auth.AllowHook), nil),
		s.AddListener(listeners.NewNet(contract.TCP, plain)),
		s.AddListener(listeners.NewNet(contract.TLS, tls.NewListener(encrypted, config))),
		s.AddListener(listeners.NewWebsocket(listeners.Config{ID: contract.WS, Address: at[contract.WS]})),
		s.AddListener(listeners.NewWebsocket(listeners.Config{ID: contract.WSS, Address: at[contract.WSS], TLSConfig: config})),
		s.Serve(),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, address := range at {
		answers(t, address)
	}
	return at, files.CA
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEveryTransport(t *testing.T) {
	everyDriver(t, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		at, ca := everyListener(t)
		for _, transport := range append([]string{contract.TCP}, sdk.Transports...) {
			t.Run(transport, func(t *testing.T) {
				defer untilCorrupted()
				sub, pub := subscriber(0, protocol, at[transport]), publisher(1, protocol, 0, 10, at[transport])
				pub.Start = "connected"
				for _, c := range []*contract.Client{&sub, &pub} {
					c.ClientID += transport
					c.Transport, c.CA = transport, ca
				}
				r := start(t, program, 2, sub, pub)
				r.wait(t, "acknowledgements", 20, and(is(1, history.KindPublish, history.Return), ok))
				r.finish(t)
				checkHistory(t, r.all())
			})
		}
	})
}

func TestACertificateOfSomebodyElse(t *testing.T) {
	everyDriver(t, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		at, _ := everyListener(t)
		other, err := certificate.Write(t.TempDir(), "127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		for _, transport := range sdk.Transports {
			if transport == contract.WS {
				continue
			}
			t.Run(transport, func(t *testing.T) {
				defer untilCorrupted()
				c := client(0, protocol, at[transport])
				c.Transport, c.CA = transport, other.CA
				r := start(t, program, 0, c)
				r.do(t, "connect", 0)
				r.wait(t, "refused connections", 2, and(is(0, history.KindConnect, history.Return), func(e history.Event) bool { return e.Outcome == history.Fail }))
				if n := r.count(and(is(0, history.KindConnect, history.Return), ok)); n != 0 {
					t.Errorf("%d connections to who cannot be trusted", n)
				}
				r.finish(t)
			})
		}
	})
}
