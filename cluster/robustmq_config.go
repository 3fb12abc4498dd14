package cluster

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/certificate"
)

// robustmqPorts are all listeners of a node, which binds each of them at every
// address, with the ports the vendor uses. The admin page is the exception:
// the vendor's 58080 is among the ports that Linux gives to outgoing
// connections, and a restarted node would find it taken now and then.
func robustmqPorts() map[string]int {
	return map[string]int{
		"grpc": 1228, "http": 8080, "engine": 1779,
		"mqtt": 1883, "mqtts": 1885, "ws": 8083, "wss": 8085, "quic": 9083,
		"nats": 4222, "natss": 4223, "natsws": 4080, "natswss": 4443,
		"kafka": 9092, "amqp": 5672,
	}
}

// settings are what may be set of the vendor's configuration of a cluster,
// config/cluster in its repository at v0.4.11, with the code's defaults for what it
// leaves out; ports, paths and secrets apart. Ranges are those of the types in
// src/common/config/src/config.rs; nothing runs with no thread at all.
func (robustmq) settings() flavorSettings {
	threads := func(vendor int) setting { return count(vendor, 1, mostThreads) }
	u16 := func(vendor int) setting { return count(vendor, 0, math.MaxUint16) }
	u32 := func(vendor int) setting { return count(vendor, 0, math.MaxUint32) }
	u64 := func(vendor int) setting { return count(vendor, 0, mostExact) }
	some := func(vendor int) setting { return count(vendor, 1, math.MaxUint32) } // of a u32 that cannot be 0
	return flavorSettings{
		"broker_network.accept_thread_num": threads(1), "broker_network.handler_thread_num": threads(64), "broker_network.queue_size": some(5000),
		"meta_runtime.heartbeat_timeout_ms": u64(30000), "meta_runtime.heartbeat_check_time_ms": u64(1000),
		"meta_runtime.raft_write_timeout_sec": u64(30), "meta_runtime.meta_worker_threads": threads(16),
		"meta_runtime.offset_raft_group_num": some(1), "meta_runtime.data_raft_group_num": some(1),
		"mqtt_runtime.broker_worker_threads":     threads(16),
		"mqtt_runtime.keep_alive.enable":         flag(true),
		"mqtt_runtime.keep_alive.default_time":   u16(180),
		"mqtt_runtime.offline_message.enable":    flag(true),
		"mqtt_runtime.offline_message.expire_ms": u32(3600000), "mqtt_runtime.offline_message.max_messages_num": u32(100000),
		"mqtt_runtime.protocol.default_session_expiry_interval": u32(30),
		"mqtt_runtime.protocol.max_session_expiry_interval":     u32(1800),
		"mqtt_runtime.protocol.max_message_expiry_interval":     u64(3600),
		"mqtt_runtime.protocol.client_pkid_persistent":          flag(false),
		"mqtt_runtime.protocol.receive_max":                     u16(65535),
		"mqtt_runtime.auth.durable_sessions_enable":             flag(false),
		"mqtt_runtime.auth.secret_free_login":                   flag(false),
		"mqtt_runtime.auth.is_self_protection_status":           flag(false),
		"storage_runtime.offset_enable_cache":                   flag(true),
		"storage_runtime.max_segment_size":                      some(1073741824), "storage_runtime.io_thread_num": threads(4),
		"storage_runtime.replica_lag_time_max_ms": u64(10000), "storage_runtime.replica_fetch_max_wait_ms": u64(500),
		"runtime.channels_per_address": threads(4), "runtime.server_worker_threads": threads(16),
		"runtime.default_topic_partition_num": some(1), "runtime.default_topic_replica_num": some(1),
	}
}

// robustmqTested returns the settings that an operator has to change in order to
// keep messages: sessions outlive a node and an outage, and every node has a copy
// of the data, up to three.
func robustmqTested(nodes int) map[string]any {
	return map[string]any{
		"runtime.default_topic_partition_num":                   1,
		"runtime.default_topic_replica_num":                     min(nodes, 3),
		"mqtt_runtime.auth.durable_sessions_enable":             true,
		"mqtt_runtime.protocol.default_session_expiry_interval": 1800,
		"mqtt_runtime.protocol.max_session_expiry_interval":     86400,
		"mqtt_runtime.protocol.max_message_expiry_interval":     86400,
	}
}

// robustmqKeeps returns how many messages wait for an absent client, 0 for no limit, for how long
// the session of an MQTT 3.1.1 client is kept, and for how long a message waits; 0 for ever.
func robustmqKeeps(config map[string]any) (messages int, session, wait time.Duration) {
	at := func(key string) int {
		n, _ := config["mqtt_runtime."+key].(int)
		return n
	}
	session = time.Duration(at("protocol.default_session_expiry_interval")) * time.Second
	wait = time.Duration(at("offline_message.expire_ms")) * time.Millisecond
	if most := time.Duration(at("protocol.max_message_expiry_interval")) * time.Second; most > 0 && (wait == 0 || most < wait) {
		wait = most
	}
	return at("offline_message.max_messages_num"), session, wait
}

// writeRobustmq writes server.toml and logger.toml of a node. All paths in
// them are absolute, and it logs to its standard output alone.
func writeRobustmq(n *Node, id int, peers map[string]any, certs certificate.Files, effective map[string]any) error {
	logger := filepath.Join(n.dir, "logger.toml")
	keys := map[string]any{
		"cluster_name": "rmq-mcp", "broker_id": id, "broker_ip": n.Address(),
		"roles": []string{"meta", "broker", "engine"}, "meta_addrs": peers,
		"grpc_port": n.ports["grpc"], "http_port": n.ports["http"], "data_path": filepath.Join(n.data, "broker"),
		"log.log_config": logger, "log.log_path": filepath.Join(n.dir, "logs"),
		"broker_network.tls_cert": certs.Cert, "broker_network.tls_key": certs.Key,
		"storage_runtime.tcp_port": n.ports["engine"], "storage_runtime.data_path": []string{filepath.Join(n.data, "engine")},
		"mqtt_runtime.auth.default_user": n.user, "mqtt_runtime.auth.default_password": n.pass,
		"mqtt_runtime.server.tcp_port": n.ports["mqtt"], "mqtt_runtime.server.tls_port": n.ports["mqtts"],
		"mqtt_runtime.server.websocket_port": n.ports["ws"], "mqtt_runtime.server.websockets_port": n.ports["wss"],
		"mqtt_runtime.server.quic_port": n.ports["quic"],
		"nats_runtime.tcp_port":         n.ports["nats"], "nats_runtime.tls_port": n.ports["natss"],
		"nats_runtime.ws_port": n.ports["natsws"], "nats_runtime.wss_port": n.ports["natswss"],
		"kafka_runtime.tcp_port": n.ports["kafka"], "amqp_runtime.tcp_port": n.ports["amqp"],
	}
	for key, value := range effective {
		keys[key] = value
	}
	if err := os.WriteFile(filepath.Join(n.dir, "server.toml"), toml(keys), 0o600); err != nil {
		return fmt.Errorf("write node configuration: %w", err)
	}
	console := map[string]any{"stdout.kind": "console", "stdout.level": "info", "stdout.ansi": false}
	if err := os.WriteFile(logger, toml(console), 0o644); err != nil {
		return fmt.Errorf("write node configuration: %w", err)
	}
	return nil
}

// toml writes dotted keys as tables, in order.
func toml(keys map[string]any) []byte {
	tables := map[string][]string{}
	for key, value := range keys {
		table, name := "", key
		if dot := strings.LastIndexByte(key, '.'); dot >= 0 {
			table, name = key[:dot], key[dot+1:]
		}
		tables[table] = append(tables[table], name+" = "+tomlValue(value))
	}
	var names []string
	for name, lines := range tables {
		slices.Sort(lines)
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		if name != "" {
			fmt.Fprintf(&b, "\n[%s]\n", name)
		}
		b.WriteString(strings.Join(tables[name], "\n") + "\n")
	}
	return []byte(b.String())
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = strconv.Quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case map[string]any:
		var pairs []string
		for key, value := range v {
			pairs = append(pairs, key+" = "+tomlValue(value))
		}
		slices.Sort(pairs)
		return "{ " + strings.Join(pairs, ", ") + " }"
	}
	return fmt.Sprint(v)
}
