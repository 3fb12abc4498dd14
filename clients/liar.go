package clients

import "github.com/robustmq/rmq-mcp/clients/contract"

// liar is a driver that lies, by the version that names its lie:
// go/liar@twice. It shows that the judge tells a client library's doing from
// the broker's, and is found by its whole name alone.
const liar = "liar"

func liarOf(lie string) SDK {
	return SDK{
		Lang: "go", Package: liar, Version: lie, Protocols: []string{contract.MQTT3}, Builtin: true, Wills: true,
		Cannot: []string{contract.CannotExactlyOnce},
	}
}
