// Package builtin is the drivers that are part of the binary.
package builtin

import (
	"fmt"
	"io"

	"github.com/robustmq/rmq-mcp/clients/drivers/go/pahomqtt"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/pahov5"
)

// Main runs the driver of an SDK by its package name, as rmq-mcp driver NAME
// does. It returns when the driver is to exit.
func Main(name string, stdin io.Reader, stdout io.Writer) error {
	switch name {
	case pahomqtt.Name:
		return pahomqtt.Main(stdin, stdout)
	case pahov5.Name:
		return pahov5.Main(stdin, stdout)
	}
	return fmt.Errorf("no driver %q in this binary; there are %s, %s", name, pahomqtt.Name, pahov5.Name)
}
