package clients_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/certificate"
	"github.com/robustmq/rmq-mcp/internal/history"
)

// everyListener starts a mosquitto that listens on every transport. It answers
// the addresses by transport, and the file of the certificate to trust.
func everyListener(t testing.TB) (at map[string]string, ca string) {
	t.Helper()
	path, dir := tool(t, "mosquitto"), t.TempDir()
	certs, err := certificate.Write(dir, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"per_listener_settings false", "allow_anonymous true", "set_tcp_nodelay true"}
	if os.Geteuid() == 0 {
		lines = append(lines, "user root") // who can read the key
	}
	at = map[string]string{}
	for _, transport := range []string{contract.TCP, contract.TLS, contract.WS, contract.WSS} {
		at[transport] = freeAddress(t)
		_, port, _ := net.SplitHostPort(at[transport])
		lines = append(lines, "listener "+port+" 127.0.0.1")
		if strings.HasPrefix(transport, "ws") {
			lines = append(lines, "protocol websockets")
		}
		if transport == contract.TLS || transport == contract.WSS {
			lines = append(lines, "certfile "+certs.Cert, "keyfile "+certs.Key)
		}
	}
	config := filepath.Join(dir, "mosquitto.conf")
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-c", config)
	cmd.Stderr = &logs{t: t.(*testing.T)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for _, address := range at {
		answers(t, address)
	}
	return at, certs.CA
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
