package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// robustmqInfo is what /api/info says. The Raft groups are as the first node
// that can be reached sees them, not as the one that was asked.
type robustmqInfo struct {
	Version string `json:"version"`
	Brokers []struct {
		ID int `json:"node_id"`
	} `json:"broker_node_list"`
	Meta map[string]robustmqGroup `json:"meta"`
}

type robustmqGroup struct {
	Leader     int `json:"current_leader"` // 0 for null
	Membership struct {
		Membership struct {
			Configs [][]int `json:"configs"`
		} `json:"membership"`
	} `json:"membership_config"`
}

// complete says whether brokers and Raft groups are the nodes 1 to n.
func (info robustmqInfo) complete(n int) error {
	want := make([]int, n)
	for i := range want {
		want[i] = i + 1
	}
	var brokers []int
	for _, b := range info.Brokers {
		brokers = append(brokers, b.ID)
	}
	slices.Sort(brokers)
	if !slices.Equal(brokers, want) {
		return fmt.Errorf("it knows the brokers %v, not %v", brokers, want)
	}
	for name, group := range info.Meta {
		configs := group.Membership.Membership.Configs
		if len(configs) != 1 {
			return fmt.Errorf("the members of Raft group %s are changing: %v", name, configs)
		}
		members := slices.Clone(configs[0])
		slices.Sort(members)
		if !slices.Equal(members, want) {
			return fmt.Errorf("the members of Raft group %s are %v, not %v", name, members, want)
		}
	}
	return nil
}

var errNoTopic = errors.New("no such topic")

// segmentLeader is the number of the node that leads the last segment, the one
// that is written to, of the topic's first partition. Only pages that answer
// from the node's own memory are asked: others fail while a leader is down.
func segmentLeader(ctx context.Context, n *Node, topic string) (int, error) {
	shard, err := firstShard(ctx, n, topic)
	if err != nil {
		return 0, err
	}
	var list struct {
		Segments []struct {
			Segment struct {
				Seq    int `json:"segment_seq"`
				Leader int `json:"leader"`
			} `json:"segment"`
		} `json:"segment_list"`
	}
	if err := robustmqAsk(ctx, n, "/api/storage-engine/segment/list", map[string]any{"shard_name": shard}, &list); err != nil {
		return 0, err
	}
	last, leader := -1, 0
	for _, s := range list.Segments {
		if s.Segment.Seq > last {
			last, leader = s.Segment.Seq, s.Segment.Leader
		}
	}
	return leader, nil
}

// firstShard is the name under which the topic's first partition is stored.
func firstShard(ctx context.Context, n *Node, topic string) (string, error) {
	shards, err := shardsOf(ctx, n, topic)
	if err == nil && shards["0"] == "" {
		err = errNoTopic
	}
	return shards["0"], err
}

// shardsOf are the names under which the topic's partitions are stored, by partition.
func shardsOf(ctx context.Context, n *Node, topic string) (map[string]string, error) {
	if topic == "" {
		return nil, errNoTopic
	}
	var page struct {
		Topics []struct {
			Name   string            `json:"topic_name"`
			Shards map[string]string `json:"storage_name_list"`
		} `json:"data"`
	}
	query := url.Values{"tenant": {"default"}, "topic_name": {topic}, "limit": {"1000"}}
	if err := robustmqAsk(ctx, n, "/api/cluster/topic/list?"+query.Encode(), nil, &page); err != nil {
		return nil, err
	}
	for _, t := range page.Topics { // the filter is any name that contains ours
		if t.Name == topic && len(t.Shards) > 0 {
			return t.Shards, nil
		}
	}
	return nil, errNoTopic
}

// dataLeader is the number of the node that leads the Raft group data_0.
func dataLeader(ctx context.Context, n *Node) (int, error) {
	var info robustmqInfo
	err := robustmqAsk(ctx, n, "/api/info", nil, &info)
	return info.Meta["data_0"].Leader, err
}

// robustmqAsk asks the admin page. It wants a login from anywhere but its own
// loopback.
func robustmqAsk(ctx context.Context, n *Node, path string, body, into any) error {
	token := ""
	if ip := net.ParseIP(n.Address()); ip == nil || !ip.IsLoopback() {
		var login struct {
			Token string `json:"token"`
		}
		who := map[string]any{"username": "admin", "password": "admin"}
		if err := robustmqCall(ctx, n.http, "/api/v1/login", "", who, &login); err != nil {
			return fmt.Errorf("log in to the admin page: %w", err)
		}
		token = login.Token
	}
	return robustmqCall(ctx, n.http, path, token, body, into)
}

// robustmqProvoke logs in with nonsense: clients come and go without a line in
// the log, but of a request that it refuses the broker writes one.
func robustmqProvoke(ctx context.Context, n *Node) error {
	_, err := call(ctx, n.http, "/api/v1/login", "", []string{})
	if errors.As(err, new(net.Error)) {
		return fmt.Errorf("send %s a login that it refuses: %w", n.name, err)
	}
	return nil
}

func robustmqCall(ctx context.Context, address, path, token string, body, into any) error {
	b, err := call(ctx, address, path, token, body)
	if err != nil {
		return err
	}
	short, _, _ := strings.Cut(path, "?")
	var answer struct {
		Code  int             `json:"code"`
		Data  json.RawMessage `json:"data"`
		Error string          `json:"error"`
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return fmt.Errorf("read %s: %w", short, err)
	}
	if answer.Code != 0 {
		return fmt.Errorf("ask %s: %s", short, answer.Error)
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		return fmt.Errorf("read %s: %w", short, err)
	}
	return nil
}

// ask reads what a node says of itself: the brokers it knows, and the
// configuration it runs with, by dotted key.
func (robustmq) ask(ctx context.Context, n *Node) (map[string]string, error) {
	var info robustmqInfo
	if err := robustmqAsk(ctx, n, "/api/info", nil, &info); err != nil {
		return nil, err
	}
	var ids []string
	for _, b := range info.Brokers {
		ids = append(ids, fmt.Sprint("node-", b.ID))
	}
	slices.Sort(ids)
	word := map[string]string{"version": "robustmq " + info.Version, "members": strings.Join(ids, ", ")}
	var config map[string]any
	if err := robustmqAsk(ctx, n, "/api/cluster/config/get", nil, &config); err != nil {
		return nil, err
	}
	dotted(word, "setting", config)
	return word, nil
}

// dotted adds the leaves of nested objects by their dotted keys.
func dotted(into map[string]string, prefix string, tree map[string]any) {
	for key, value := range tree {
		if sub, ok := value.(map[string]any); ok {
			dotted(into, prefix+"."+key, sub)
			continue
		}
		into[prefix+"."+key] = fmt.Sprint(value)
	}
}

// stored adds up, over the topic's partitions, the end offset plus one. The node asks
// each partition's leader for the end offset. It is the offset of the last message,
// and 0 also if there is none (src/storage-engine/src/handler/adapter.rs, list_shard,
// v0.4.11). The stored messages themselves cannot be read: the page for them ignores
// the offset to start at (src/admin-server/src/cluster/message.rs).
func (robustmq) stored(ctx context.Context, n *Node, topic string) (int64, error) {
	shards, err := shardsOf(ctx, n, topic)
	if err != nil {
		return 0, err
	}
	var count int64
	for _, shard := range shards {
		end, err := endOffset(ctx, n, shard)
		if err != nil {
			return 0, err
		}
		count += end + 1
	}
	return count, nil
}

// endOffset is that of the last message of a partition.
func endOffset(ctx context.Context, n *Node, shard string) (int64, error) {
	var page struct {
		Rows []struct {
			Info struct {
				Name   string `json:"shard_name"`
				Offset struct {
					End int64 `json:"end_offset"`
				} `json:"offset"`
			} `json:"shard_info"`
		} `json:"data"`
	}
	if err := robustmqAsk(ctx, n, "/api/storage-engine/shard/list", map[string]any{"shard_name": shard}, &page); err != nil {
		return 0, err
	}
	for _, r := range page.Rows {
		if r.Info.Name == shard {
			return r.Info.Offset.End, nil
		}
	}
	return 0, fmt.Errorf("it does not list the partition %s", shard)
}

func (robustmq) mailboxes(ctx context.Context, n *Node, page string, into any) error {
	return robustmqAsk(ctx, n, page, nil, into)
}
