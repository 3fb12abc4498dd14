package clients_test

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
)

func TestCheck(t *testing.T) {
	sdk, err := clients.ResolveFor("go", contract.MQTT3)
	if err != nil {
		t.Fatal(err)
	}
	err = clients.Check(t.Context(), clients.Trial{
		Program: provision(t, sdk), SDK: sdk, Protocol: contract.MQTT3, Target: clients.Target{Endpoint: broker(t, contract.MQTT3)},
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCheckSaysWhatIsWrong is of drivers that are not as they should be: each
// is told in a bounded time.
func TestCheckSaysWhatIsWrong(t *testing.T) {
	for mode, want := range map[string]string{
		"hang":               "subscribed 0 of 1 after 300ms; it said nothing",
		"blocks on connect":  "it called connect, which has not returned",
		"prints to stdout":   `is not JSON of the contract: "Welcome to this SDK"`,
		"dies":               "exit status 3",
		"crash before hello": "ImportError",
		"other contract":     "contract 99",
		"early bye":          "bye without being told",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			err := clients.Check(t.Context(), clients.Trial{
				Program: fake(mode), SDK: clients.SDK{Package: "fake"}, Protocol: contract.MQTT3,
				Target: clients.Target{Endpoint: "127.0.0.1:1"}, Wait: 300 * time.Millisecond,
			})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			if mode == "dies" && !strings.Contains(err.Error(), "Segmentation fault") {
				t.Errorf("%v: what it printed is not said", err)
			}
		})
	}
}

func TestCheckComparesWithTheCatalogue(t *testing.T) {
	for want, sdk := range map[string]clients.SDK{
		"drives fake ":     {Package: "other"},
		"dedupes: false":   {Package: "fake", Dedupes: true},
		`the catalogue ["`: {Package: "fake", Cannot: []string{contract.CannotTold}},
	} {
		err := clients.Check(t.Context(), clients.Trial{Program: fake("hang"), SDK: sdk, Protocol: contract.MQTT3, Wait: time.Second})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
