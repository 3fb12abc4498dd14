package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// brokers starts one node of each flavor, with every transport; of RobustMQ
// where its binary is named.
func brokers(t *testing.T, test func(t *testing.T, ctx context.Context, c *Cluster)) {
	flavors := []string{"reference", "mosquitto"}
	if os.Getenv("RMQ_ROBUSTMQ_BIN") != "" {
		flavors = append(flavors, "robustmq")
	}
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			config := Config{Flavor: flavor, Nodes: 1, Transports: Transports()}
			if _, err := Check(config); err != nil {
				hosttest.Skip(t, err.Error())
			}
			ctx, c := startCluster(t, config)
			test(t, ctx, c)
		})
	}
}

func TestEveryTransportCarriesMQTT(t *testing.T) {
	brokers(t, func(t *testing.T, _ context.Context, c *Cluster) {
		for _, transport := range Transports() {
			if err := roundTrip(c, transport); err != nil {
				t.Errorf("%s: %v", transport, err)
			}
		}
	})
}

// An external cluster is spoken to by the transport that it has, by probes too.
func TestExternalOverEveryTransport(t *testing.T) {
	brokers(t, func(t *testing.T, _ context.Context, c *Cluster) {
		for _, transport := range Transports() {
			user, password := c.Credentials()
			config := Config{Flavor: "external", Endpoints: c.Endpoints(transport), Transports: []string{transport},
				Username: user, Password: secret.NewText(password)}
			if config.secure() {
				config.CA = c.CA()
			}
			_, outside := startCluster(t, config)
			if err := roundTrip(outside, transport); err != nil {
				t.Errorf("%s: %v", transport, err)
			}
		}
	})
}

// roundTrip sends a message to itself and waits for it, and refuses a
// certificate that the cluster's authority did not sign.
func roundTrip(c *Cluster, transport string) error {
	n := c.Nodes()[0]
	scheme, path := transport+"://", ""
	if strings.HasPrefix(transport, "ws") {
		path = "/mqtt"
	}
	user, password := c.Credentials()
	roots := x509.NewCertPool()
	if c.CA() != "" {
		ca, err := os.ReadFile(c.CA())
		if err != nil || !roots.AppendCertsFromPEM(ca) {
			return errors.Join(errors.New("no CA"), err)
		}
	}
	client := mqtt.NewClient(mqtt.NewClientOptions().AddBroker(scheme + n.Endpoint(transport) + path).SetClientID("test-" + transport).
		SetUsername(user).SetPassword(password).SetAutoReconnect(false).SetTLSConfig(&tls.Config{RootCAs: roots}))
	if err := within(client.Connect()); err != nil {
		return err
	}
	defer client.Disconnect(100)
	arrived := make(chan struct{})
	if err := within(client.Subscribe("transport/"+transport, 1, func(mqtt.Client, mqtt.Message) { close(arrived) })); err != nil {
		return err
	}
	if err := within(client.Publish("transport/"+transport, 1, false, "hello")); err != nil {
		return err
	}
	select {
	case <-arrived:
		return nil
	case <-time.After(hosttest.Bound):
		return errors.New("published, and not delivered within 20 s")
	}
}

func within(token mqtt.Token) error {
	if !token.WaitTimeout(hosttest.Bound) {
		return errors.New("no answer within 20 s")
	}
	return token.Error()
}

func TestTransportsThatAreNot(t *testing.T) {
	for want, config := range map[string]Config{
		"there are tcp, tls, ws, wss":       {Transports: []string{"quic"}},
		"each endpoint of external has one": {Flavor: "external", Endpoints: []string{"a:1"}, Transports: []string{"tls", "ws"}},
		"is needed for tls":                 {Flavor: "external", Endpoints: []string{"a:1"}, Transports: []string{"tls"}},
		"ca is for the flavor external":     {CA: "/etc/ca.pem"},
	} {
		if _, err := Check(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", config, err, want)
		}
	}
}
