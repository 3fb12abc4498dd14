package campaigns

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
)

// A schedule for three nodes has nothing to do at a broker of one; its control
// does, as it has no schedule.
func TestAScheduleNeedsItsNodes(t *testing.T) {
	scene := Scene{Name: "mqtt/crash-in-turn", Protocols: []string{"mqtt3"}, Faults: true, Fits: func(c cluster.Config) error {
		if c.Nodes > 0 && c.Nodes < 3 {
			return fmt.Errorf("the schedule needs node 3 of %d", c.Nodes)
		}
		return nil
	}}
	for flavor, says := range map[string]string{"mosquitto": "the schedule needs node 3 of 1", "embedded": ""} {
		p, err := NewPlan(Order{Scenarios: []Scene{scene}, SDKs: []string{"go/rmq-mcp"}, Flavors: []string{flavor}, Controls: true})
		if err != nil || len(p.Entries) != 2 {
			t.Fatalf("%s: %d cells, %v", flavor, len(p.Entries), err)
		}
		for _, e := range p.Entries {
			want := says
			if e.NoFaults {
				want = ""
			}
			if e.Lacks != want {
				t.Errorf("%s lacks %q, want %q", e, e.Lacks, want)
			}
		}
	}
}

// The disks of external brokers are not ours to arm, the tap before them is.
func TestForeignBrokersAreNotArmed(t *testing.T) {
	scene := Scene{Name: "mqtt/power-loss", Protocols: []string{"mqtt3"}, Arms: []string{cluster.ArmDisk, cluster.ArmTap}, Faults: true}
	for flavor, want := range map[string][]string{"external": {cluster.ArmTap}, "embedded": {cluster.ArmDisk, cluster.ArmTap}} {
		p, err := NewPlan(Order{Scenarios: []Scene{scene}, SDKs: []string{"go/rmq-mcp"}, Flavors: []string{flavor}, NoFaults: true})
		if err != nil || len(p.Entries) != 1 {
			t.Fatalf("%s: %d cells, %v", flavor, len(p.Entries), err)
		}
		if got := p.Entries[0].Arm; !slices.Equal(got, want) {
			t.Errorf("%s: armed with %q, want %q", flavor, got, want)
		}
	}
}

// Brokers that somebody else runs have the workload alone of a scenario all of whose faults
// act on nodes, and each once.
func TestForeignBrokersHaveControls(t *testing.T) {
	scenes := []Scene{
		{Name: "mqtt/broker-kill-9", Protocols: []string{"mqtt3"}, Faults: true, Withheld: cluster.Config.Untouchable},
		{Name: "mqtt/ack-lost", Protocols: []string{"mqtt3"}, Faults: true},
	}
	for _, controls := range []bool{false, true} {
		p, err := NewPlan(Order{Scenarios: scenes, SDKs: []string{"go/rmq-mcp"}, Flavors: []string{"external"}, Controls: controls})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]bool{"mqtt/broker-kill-9": {true}, "mqtt/ack-lost": {false}}
		if controls {
			want["mqtt/ack-lost"] = []bool{true, false}
		}
		got := map[string][]bool{}
		for _, e := range p.Entries {
			got[e.Scenario] = append(got[e.Scenario], e.NoFaults)
			if e.Lacks != "" {
				t.Errorf("%s lacks %s", e, e.Lacks)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("controls %v: without faults %v, want %v", controls, got, want)
		}
	}
}

// Every scenario comes first without its faults, with the default SDK for that
// broker. A scenario that has no faults comes once.
func TestAPlanWithControls(t *testing.T) {
	owns := func(protocol, flavor string) (clients.SDK, error) {
		return clients.ResolveFor(map[string]string{"mqtt3": "go/paho.mqtt.golang@1.5.1", "mqtt5": "go/paho.golang", "mq9": "rust/async-nats"}[protocol], protocol)
	}
	p, err := NewPlan(Order{
		Scenarios: []Scene{
			{Name: "mqtt/broker-kill-9", Protocols: []string{"mqtt3", "mqtt5"}, Faults: true, Default: owns},
			{Name: "mqtt/qos-roundtrip", Protocols: []string{"mqtt3", "mqtt5"}, Default: owns},
			{Name: "mq9/broker-kill-9", Protocols: []string{"mq9"}, Faults: true, Default: owns},
		},
		SDKs: []string{DefaultSDK}, Flavors: []string{"robustmq"}, Protocols: []string{"mqtt3", "mq9"}, Controls: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range p.Entries {
		got = append(got, e.String())
	}
	async, err := owns("mq9", "robustmq")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{
		"mqtt/broker-kill-9 robustmq go/paho.mqtt.golang@1.5.1 mqtt3 tcp without faults",
		"mqtt/qos-roundtrip robustmq go/paho.mqtt.golang@1.5.1 mqtt3 tcp without faults",
		"mq9/broker-kill-9 robustmq " + async.String() + " mq9 tcp without faults",
		"mqtt/broker-kill-9 robustmq go/paho.mqtt.golang@1.5.1 mqtt3 tcp",
		"mq9/broker-kill-9 robustmq " + async.String() + " mq9 tcp",
	}; !slices.Equal(got, want) {
		t.Errorf("planned %q, want %q", got, want)
	}
}

func TestAPlanSaysWhatIsWrong(t *testing.T) {
	scene := []Scene{{Name: "mqtt/qos-roundtrip", Protocols: []string{"mqtt3", "mqtt5"}}}
	for says, o := range map[string]Order{
		`no SDK "cobol"`:     {Scenarios: scene, SDKs: []string{"cobol"}},
		`no transport "udp"`: {Scenarios: scene, Transports: []string{"udp"}},
		"no cell to run":     {Scenarios: scene, SDKs: []string{"go/paho.golang"}, Protocols: []string{"mqtt3"}},
	} {
		if _, err := NewPlan(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
