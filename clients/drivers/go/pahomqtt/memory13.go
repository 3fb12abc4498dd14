//go:build paho13

package pahomqtt

import (
	"slices"
	"sync"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// memory keeps messages in flight, in the order in which they were sent. The
// SDK's own before 1.4 sends them again in any order.
type memory struct {
	mu       sync.Mutex
	keys     []string
	messages map[string]packets.ControlPacket
}

func newMemory() *memory { return &memory{messages: map[string]packets.ControlPacket{}} }

func (m *memory) Open() {}

func (m *memory) Put(key string, packet packets.ControlPacket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.messages[key]; !known {
		m.keys = append(m.keys, key)
	}
	m.messages[key] = packet
}

func (m *memory) Get(key string) packets.ControlPacket {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.messages[key]
}

func (m *memory) All() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.keys)
}

func (m *memory) Del(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.messages, key)
	m.keys = slices.DeleteFunc(m.keys, func(k string) bool { return k == key })
}

func (m *memory) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys, m.messages = nil, map[string]packets.ControlPacket{}
}
