// Package builtin is the drivers that are part of the binary.
package builtin

import (
	"fmt"
	"io"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/drivers/go/liar"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/native"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/natsgo"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/pahomqtt"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/pahov5"
)

// Main runs the driver of an SDK by its package name, as rmq-mcp driver NAME
// does. It returns when the driver is to exit.
func Main(name string, stdin io.Reader, stdout io.Writer) error {
	if lie, ok := strings.CutPrefix(name, liar.Name+"@"); ok {
		return liar.Main(lie, stdin, stdout)
	}
	switch name {
	case pahomqtt.Name:
		return pahomqtt.Main(pahomqtt.Version, stdin, stdout)
	case pahov5.Name:
		return pahov5.Main(pahov5.Version, stdin, stdout)
	case native.Name:
		return native.Main(stdin, stdout)
	case natsgo.Name:
		return natsgo.Main(stdin, stdout)
	}
	return fmt.Errorf("no driver %q in this binary; there are %s, %s, %s, %s", name, pahomqtt.Name, pahov5.Name, native.Name, natsgo.Name)
}
