package campaigns

import "testing"

// A step for a broker of somebody else names its endpoints: without them nobody could take it.
func TestStepNamesEndpoints(t *testing.T) {
	a := ask{scenario: "mqtt/qos-roundtrip", sdk: "go/rmq-mcp@1", protocol: "mqtt3", transport: "tcp", flavor: "external", tier: "smoke", seed: 7, endpoints: []string{"127.0.0.1:1883", "127.0.0.1:1884"}}
	s := a.step("again")
	if want := "rmq-mcp run mqtt/qos-roundtrip --endpoint 127.0.0.1:1883 --endpoint 127.0.0.1:1884 --sdk go/rmq-mcp@1 --protocol mqtt3 --seed 7 --tier smoke"; s.Command != want {
		t.Error(s.Command)
	}
	if want := `run_scenario(scenario:"mqtt/qos-roundtrip", config:{flavor:"external",endpoints:["127.0.0.1:1883","127.0.0.1:1884"]}, sdks:["go/rmq-mcp@1"], protocol:"mqtt3", seed:7, tier:"smoke")`; s.Call != want {
		t.Error(s.Call)
	}
}
