package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// Limits until a NATS server lets a client in: bytes of a line, messages of both sides
// together, and how long a PING may go unanswered before there is another one.
const (
	maxInfo  = 64 << 10
	maxSaid  = 20
	askAgain = 500 * time.Millisecond
)

// Greet connects to an address as the smallest client of a protocol (mqtt3, mqtt5,
// mq9) does, with the cluster's user, and says what was said until it was let in. It
// is bounded by three seconds. An error says how far it came.
func (c *Cluster) Greet(ctx context.Context, protocol, transport, address string) (said string, err error) {
	if protocol == contract.MQ9 {
		said, err = greetNATS(ctx, address, c.plan.user, c.plan.password)
	} else {
		var took time.Duration
		took, err = probe(ctx, levelOf(protocol), transport, address, c.plan.user, c.plan.password)
		said = fmt.Sprintf("CONNECT was answered by CONNACK within %d ms", took.Milliseconds())
	}
	if err != nil {
		return "", fmt.Errorf("connect to %s: %w", address, err)
	}
	return said, nil
}

func levelOf(protocol string) byte {
	if protocol == contract.MQTT5 {
		return level5
	}
	return level3
}

// greetNATS goes through the beginning of a NATS connection: INFO, CONNECT and PING,
// PONG. It answers the PINGs of the server, which may come at any time. RobustMQ 0.4.11
// leaves some PINGs that come with CONNECT unanswered: there is another one then.
func greetNATS(ctx context.Context, address, user, password string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	hello, err := json.Marshal(map[string]any{"verbose": false, "pedantic": false, "lang": "rmq-mcp", "version": "1", "protocol": 1, "user": user, "pass": password})
	if err != nil {
		return "", err
	}
	var said []string
	line, in := "", bufio.NewReaderSize(conn, maxInfo)
	for len(said) < maxSaid && len(line) < maxInfo {
		conn.SetReadDeadline(time.Now().Add(askAgain))
		part, err := in.ReadSlice('\n')
		line += string(part)
		if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
			if len(said) == 0 {
				continue
			}
			said = append(said, "client: PING")
			_, err = conn.Write([]byte("PING\r\n"))
			if err == nil {
				continue
			}
		}
		if err != nil {
			return "", fmt.Errorf("after %q: %w", strings.Join(said, "; "), err)
		}
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		line = ""
		said = append(said, "broker: "+verb)
		answer := ""
		switch strings.ToUpper(verb) {
		case "INFO":
			if len(said) == 1 {
				answer = "CONNECT " + string(hello) + "\r\nPING\r\n"
				said = append(said, "client: CONNECT, PING")
			}
		case "PING":
			answer = "PONG\r\n"
			said = append(said, "client: PONG")
		case "PONG":
			return strings.Join(said, "; "), nil
		case "-ERR":
			return "", fmt.Errorf("after %q: %s", strings.Join(said, "; "), rest)
		}
		if _, err := conn.Write([]byte(answer)); err != nil {
			return "", fmt.Errorf("after %q: %w", strings.Join(said, "; "), err)
		}
	}
	return "", fmt.Errorf("no PONG after %q", strings.Join(said, "; "))
}
