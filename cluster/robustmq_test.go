package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/google/go-cmp/cmp"
	"github.com/robustmq/rmq-mcp/history"
)

// robustmqBound is for a broker built without optimization, on a busy machine.
const robustmqBound = 10 * time.Minute

// RobustMQ cannot be had everywhere, and this test is skipped without it even
// where everything else is required.
func TestRobustMQ(t *testing.T) {
	if os.Getenv(robustmqEnv) == "" {
		t.Skipf("%s is not set", robustmqEnv)
	}
	ctx, cancel := context.WithTimeout(t.Context(), robustmqBound)
	defer cancel()
	c, err := Start(ctx, optionsFor(t, Config{Flavor: "robustmq", Nodes: 3}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	wantEffective(t, Config{Flavor: "robustmq"}, c)
	if info := c.Info(); !strings.HasPrefix(info.Version, "robustmq 0.") || info.Differs["runtime.default_topic_replica_num"] != "1 → 3" {
		t.Errorf("info is %+v", info)
	}
	const topic = "rmq/test/leader"
	publish(t, c, c.Nodes()[0], topic)
	leader, err := c.Resolve(ctx, "leader", topic)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s leads %s", leader[0].Name(), topic)
	checkFigures(t, ctx, leader[0], "process_memory_bytes", "process_fds")

	for _, way := range []struct{ want, state string }{
		{"killed", history.StateKilled}, {"frozen", history.StateFrozen}, {"stopped", "exited: status 0"},
	} {
		t.Run(way.want, func(t *testing.T) {
			began := time.Now()
			set(t, ctx, leader[0], way.want)
			wantState(t, leader[0], way.state)
			t.Logf("%s after %v", way.want, time.Since(began))
			began = time.Now()
			set(t, ctx, leader[0], "running")
			t.Logf("running again after %v", time.Since(began))
			if !serves(ctx, leader[0]) {
				t.Errorf("%s does not serve", leader[0].Name())
			}
		})
	}
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// publish sends one message of QoS 1 and waits for its acknowledgement.
func publish(t *testing.T, c *Cluster, n *Node, topic string) {
	t.Helper()
	user, password := c.Credentials()
	client := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://" + n.MQTT()).SetClientID("publish").
		SetUsername(user).SetPassword(password).SetConnectTimeout(testBound))
	defer client.Disconnect(100)
	connected := client.Connect()
	if !connected.WaitTimeout(testBound) || connected.Error() != nil {
		t.Fatalf("connect to %s: %v", n.Name(), connected.Error())
	}
	sent := client.Publish(topic, 1, false, "one")
	if !sent.WaitTimeout(testBound) || sent.Error() != nil {
		t.Fatalf("publish to %s: %v", n.Name(), sent.Error())
	}
}

func TestRobustMQConfig(t *testing.T) {
	effective := func(c Config) map[string]any {
		keys, err := robustmq{}.effective(c)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	shipped := effective(Config{Nodes: 3, Profile: ProfileAsShipped})
	if diff := cmp.Diff(robustmq{}.settings().vendors(), shipped); diff != "" {
		t.Errorf("as shipped is not the vendor's (-vendor +ours):\n%s", diff)
	}
	changed := map[string]string{}
	tested := effective(Config{Nodes: 3, Profile: ProfileTested, Settings: map[string]any{"runtime.default_topic_partition_num": 3}})
	differs(changed, tested, robustmq{}.settings().vendors())
	want := map[string]string{
		"runtime.default_topic_partition_num":                   "1 → 3",
		"runtime.default_topic_replica_num":                     "1 → 3",
		"mqtt_runtime.auth.durable_sessions_enable":             "false → true",
		"mqtt_runtime.protocol.default_session_expiry_interval": "30 → 1800",
		"mqtt_runtime.protocol.max_session_expiry_interval":     "1800 → 86400",
		"mqtt_runtime.protocol.max_message_expiry_interval":     "3600 → 86400",
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestTOML(t *testing.T) {
	got := string(toml(map[string]any{
		"id": 1, "peers": map[string]any{"2": "b:1", "1": "a:1"}, "a.b.on": true, "a.size": 3.0, "a.paths": []string{"/x y"},
	}))
	want := `id = 1
peers = { 1 = "a:1", 2 = "b:1" }

[a]
paths = ["/x y"]
size = 3

[a.b]
on = true
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("TOML (-want +got):\n%s", diff)
	}
}

func TestRobustMQComplete(t *testing.T) {
	info := func(brokers []int, members ...[]int) robustmqInfo {
		i := robustmqInfo{Meta: map[string]robustmqGroup{}}
		for _, id := range brokers {
			i.Brokers = append(i.Brokers, struct {
				ID int `json:"node_id"`
			}{id})
		}
		g := robustmqGroup{Leader: 1}
		g.Membership.Membership.Configs = members
		i.Meta["data_0"] = g
		return i
	}
	for _, c := range []struct {
		info robustmqInfo
		want string
	}{
		{info([]int{2, 1}, []int{2, 1}), ""},
		{info([]int{1}, []int{1, 2}), "brokers"},
		{info([]int{1, 2}, []int{1}), "members"},
		{info([]int{1, 2}, []int{1}, []int{1, 2}), "changing"},
	} {
		err := c.info.complete(2)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", fmt.Sprint(c.info), err, c.want)
		}
	}
}

// The settings say how many messages wait for an absent client, and for how long.
func TestRobustmqKeeps(t *testing.T) {
	for _, test := range []struct {
		config        map[string]any
		messages      int
		session, wait time.Duration
	}{
		{map[string]any{}, 0, 0, 0},
		{map[string]any{
			"mqtt_runtime.protocol.default_session_expiry_interval": 30, "mqtt_runtime.offline_message.expire_ms": 3600000,
			"mqtt_runtime.protocol.max_message_expiry_interval": 86400, "mqtt_runtime.offline_message.max_messages_num": 100,
		}, 100, 30 * time.Second, time.Hour},
		{map[string]any{"mqtt_runtime.protocol.max_message_expiry_interval": 60}, 0, 0, time.Minute},
	} {
		if messages, session, wait := robustmqKeeps(test.config); messages != test.messages || session != test.session || wait != test.wait {
			t.Errorf("%v: %d messages, sessions %s, messages for %s", test.config, messages, session, wait)
		}
	}
}
