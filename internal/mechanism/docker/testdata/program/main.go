// Program is what the containers of this package's tests run: HoldMain, or
// something that says a line ten times a second.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
)

func main() {
	if os.Args[1] == "hold" {
		if err := docker.HoldMain(os.Args[2:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	for i := 0; ; i++ {
		fmt.Println("line", i)
		time.Sleep(100 * time.Millisecond)
	}
}
