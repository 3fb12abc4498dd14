package mq9

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/robustmq/rmq-mcp/internal/plant"
)

// PlantPrefix begins the name of every plant.
const PlantPrefix = "mq9-"

// A Plant is a defect that a node shows on purpose, so that it is seen whether
// the judge finds it.
type Plant struct {
	Name   string
	What   string
	Claims []string // that find it
	Every  int64    // it shows once in so many messages that it could show in

	// send changes a message before it is stored. With drop a message is answered but
	// not stored. fetch changes the answer to a fetch.
	send  func(p *planted, m *request)
	drop  bool
	fetch func(p *planted, address, group string, list []message) []message
	make  func(in map[string]any) // to a request for a mailbox
}

// Plants are all of them.
func Plants() []Plant {
	return []Plant{
		{Name: "mq9-forget", Claims: []string{"mq9-no-loss", "mq9-workers-no-loss"}, What: "answers a send with an id and forgets the message", drop: true},
		{Name: "mq9-skip", Claims: []string{"mq9-no-loss"}, What: "never shows a group one of its messages", fetch: skip},
		{Name: "mq9-reorder", Claims: []string{"mq9-fifo"}, What: "answers a fetch with two messages of one priority in each other's place", fetch: disorder},
		{Name: "mq9-invert", Claims: []string{"mq9-priority"}, What: "answers a fetch with the lowest priority first", fetch: invert},
		{Name: "mq9-repeat", Claims: []string{"mq9-ack-kept", "mq9-one-worker"}, What: "answers a fetch with a message that its group has acknowledged", fetch: repeat},
		{Name: "mq9-corrupt", Claims: []string{"no-corruption"}, What: "answers a fetch with a byte of a payload changed", fetch: damage},
		{Name: "mq9-misroute", Claims: []string{"no-unexpected"}, What: "answers a fetch with a message of another mailbox", fetch: misroute},
		{Name: "mq9-message-late", Claims: []string{"mq9-message-ttl"}, What: "keeps a message whose time is over", send: keep},
		{Name: "mq9-message-early", Claims: []string{"mq9-message-ttl"}, What: "ends a message's time at once", send: shorten},
		{Name: "mq9-mailbox-late", Claims: []string{"mq9-mailbox-ttl"}, What: "keeps every mailbox whose time is over", make: func(in map[string]any) { delete(in, "ttl") }},
	}
}

// FindPlant answers the plant of a name. NAME/N is the same defect once in N.
func FindPlant(name string) (Plant, error) {
	p, every, err := plant.Find(name, Plants(), func(p Plant) string { return p.Name })
	p.Every = every
	return p, err
}

// String is the name with the rate, as FindPlant takes it.
func (p Plant) String() string { return plant.Name(p.Name, p.Every) }

// A planted is a plant in a node.
type planted struct {
	plant Plant

	rate *plant.Rate

	mu     sync.Mutex
	last   uint64              // id that a send was answered with
	hidden map[string][]uint64 // ids that a group is never shown, by mailbox and group
	other  map[string]message  // one of each mailbox
	first  map[string]message  // that a group was shown, by mailbox, group and priority
}

func newPlanted(p Plant) *planted {
	return &planted{plant: p, rate: plant.Once(p.Every), hidden: map[string][]uint64{}, other: map[string]message{}, first: map[string]message{}}
}

// hits reports whether the defect is to show now that it can.
func (p *planted) hits() bool { return p.rate.Hits() }

// loads reports whether a mailbox is one of the workload, not of a probe.
func loads(address string) bool {
	return strings.Contains(address, "load") || strings.Contains(address, "brief")
}

// workload is a payload's text where it is a message of the workload and no end
// marker: those are spared, so that a run ends in order.
func workload(payload string) (text []byte, ok bool) {
	text = []byte(payload)
	return text, isMessage(text)
}

func isMessage(text []byte) bool {
	return len(text) > 92 && string(text[:4]) == "RQ1|" && text[55] == 'M'
}

// do carries a request out, with the defect.
func (p *planted) do(ctx context.Context, address string, m *request, do func(context.Context, string, *request) (any, error)) (any, error) {
	sends := strings.HasPrefix(m.Subject, subjectSend) && isMessage(m.Data)
	if !loads(address) {
		return do(ctx, address, m)
	}
	if sends && (p.plant.drop || p.plant.send != nil) {
		p.mu.Lock()
		hit := p.last > 0 && p.hits()
		id := p.last
		p.mu.Unlock()
		switch {
		case hit && p.plant.drop:
			return sendReply{ID: int64(id) + 1}, nil
		case hit:
			p.plant.send(p, m)
		}
	}
	reply, err := do(ctx, address, m)
	if err != nil {
		return reply, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r := reply.(type) {
	case sendReply:
		if r.ID > 0 {
			p.last = uint64(r.ID)
		}
	case messagesReply:
		if strings.HasPrefix(m.Subject, subjectFetch) && p.plant.fetch != nil {
			var in fetchRequest
			if err := read("MSG.FETCH", m.Data, &in); err != nil {
				return nil, err
			}
			r.Messages = p.plant.fetch(p, address, in.Group, r.Messages)
			return r, nil
		}
	}
	return reply, nil
}

// asked is the data of a request for a mailbox, with the defect.
func (p *planted) asked(data []byte) []byte {
	var in map[string]any
	if p.plant.make == nil || json.Unmarshal(data, &in) != nil {
		return data
	}
	if name, _ := in["name"].(string); !loads(name) {
		return data
	}
	p.plant.make(in)
	if out, err := json.Marshal(in); err == nil {
		return out
	}
	return data
}

func keep(_ *planted, m *request) { m.Header.Del(headerTTL) }

func shorten(_ *planted, m *request) {
	if m.Header.Get(headerTTL) != "" {
		m.Header.Set(headerTTL, "0")
	}
}

// skip hides one that is not the last: a group that acknowledges the last has
// acknowledged those before.
func skip(p *planted, address, group string, list []message) []message {
	key := address + " " + group
	for i, m := range list[:max(0, len(list)-1)] {
		if _, ok := workload(m.Payload); ok && list[i+1].Priority == m.Priority && !slices.Contains(p.hidden[key], m.ID) && p.hits() {
			p.hidden[key] = append(p.hidden[key], m.ID)
		}
	}
	return slices.DeleteFunc(list, func(m message) bool { return slices.Contains(p.hidden[key], m.ID) })
}

func disorder(p *planted, _, _ string, list []message) []message {
	for i := 0; i+1 < len(list); i++ {
		a, ok := workload(list[i].Payload)
		b, too := workload(list[i+1].Payload)
		if ok && too && list[i].Priority == list[i+1].Priority && string(a[27:35]) == string(b[27:35]) && p.hits() { // of one stream
			list[i], list[i+1] = list[i+1], list[i]
			i++
		}
	}
	return list
}

func invert(p *planted, _, _ string, list []message) []message {
	last := len(list) - 1
	if last < 1 || list[0].Priority == list[last].Priority || !p.hits() {
		return list
	}
	return slices.Concat(list[last:], list[:last])
}

// repeat shows the first of a priority again, before later ones: a group that goes on
// behind it has acknowledged it.
func repeat(p *planted, address, group string, list []message) []message {
	if len(list) == 0 {
		return list
	}
	key := address + " " + group + " " + list[0].Priority
	old, ok := p.first[key]
	if _, is := workload(list[0].Payload); is && !ok {
		p.first[key] = list[0]
	}
	if ok && old.ID < list[0].ID && p.hits() {
		return slices.Concat([]message{old}, list)
	}
	return list
}

func damage(p *planted, _, _ string, list []message) []message {
	for i, m := range list {
		if text, ok := workload(m.Payload); ok && p.hits() {
			text[len(text)-1] ^= 1
			list[i].Payload = string(text)
		}
	}
	return list
}

func misroute(p *planted, address, _ string, list []message) []message {
	for _, m := range list {
		if _, ok := workload(m.Payload); ok {
			p.other[address] = m
		}
	}
	for from, m := range p.other {
		if from != address && len(list) > 0 && p.hits() {
			m.ID, m.Priority = list[0].ID, list[0].Priority
			return slices.Concat([]message{m}, list)
		}
	}
	return list
}
