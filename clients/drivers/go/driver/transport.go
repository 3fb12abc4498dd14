package driver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// webSocketPath is where brokers listen for MQTT over WebSocket.
const webSocketPath = "/mqtt"

// reach opens a connection to an endpoint, ready for MQTT packets.
func (p *Process) reach(ctx context.Context, endpoint string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	trusted, err := trust(p.client)
	if err != nil {
		return nil, err
	}
	switch p.client.Transport {
	case contract.TLS:
		dialer := tls.Dialer{Config: trusted}
		return dialer.DialContext(ctx, "tcp", endpoint)
	case contract.WS, contract.WSS:
		return p.sdk.WebSocket(ctx, p.client.Transport+"://"+endpoint+webSocketPath, trusted)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", endpoint)
}

// trust is whom a client trusts: certificates signed by its CA, or the CA
// itself, whatever their name is. It is nil where the client uses no TLS.
func trust(c contract.Client) (*tls.Config, error) {
	if c.Transport != contract.TLS && c.Transport != contract.WSS {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("read the certificate to trust: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s", c.CA)
	}
	return &tls.Config{
		InsecureSkipVerify: true, // of what follows, only the name
		VerifyConnection: func(state tls.ConnectionState) error {
			between := x509.NewCertPool()
			for _, c := range state.PeerCertificates[1:] {
				between.AddCert(c)
			}
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
			return err
		},
	}, nil
}
