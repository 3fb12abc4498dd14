package doctor

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// answerBound is how long a node may take to answer a new client.
const answerBound = 2 * time.Second

// answers connects to a node as a new client does, and is nil if the node lets it in. During an
// election a cluster turns new clients away, and keeps its old ones.
func (c *liveCluster) answers(ctx context.Context, n keeper.NodeStatus) error {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	_, text, err := net.SplitHostPort(n.MQTT)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	conn, err := c.client.Forward(ctx, n.Name, port)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	// CONNECT and CONNACK: MQTT 3.1.1, sections 3.1 and 3.2. A clean session,
	// ten seconds of keep alive.
	const id = "rmq-doctor"
	connect := "\x00\x04MQTT\x04\x02\x00\x0a\x00" + string(rune(len(id))) + id
	if _, err := io.WriteString(conn, "\x10"+string(rune(len(connect)))+connect); err != nil {
		return err
	}
	var answer [4]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("wait for CONNACK: %w", err)
	}
	if answer[0] != 0x20 || answer[3] != 0 {
		return fmt.Errorf("it said % x", answer)
	}
	return nil
}
