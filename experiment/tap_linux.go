package experiment

import (
	"context"
	"net"
	"os"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// onHost has the tap listen and dial on a host. A socket belongs to the
// namespace of the thread that opened it; addresses are numbers, so that no
// other thread does.
func onHost(host cluster.Host) tap.Options {
	inside, ok := host.(interface{ NetNS() *os.File })
	if !ok {
		return tap.Options{}
	}
	return tap.Options{
		Listen: func(address string) (l net.Listener, err error) {
			err = netns.In(inside.NetNS(), func() error {
				l, err = net.Listen("tcp", address)
				return err
			})
			return l, err
		},
		Dial: func(ctx context.Context, address string) (c net.Conn, err error) {
			err = netns.In(inside.NetNS(), func() error {
				c, err = new(net.Dialer).DialContext(ctx, "tcp", address)
				return err
			})
			return c, err
		},
	}
}
