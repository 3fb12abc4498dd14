package cluster

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
)

// Ports of a loopback network are taken from blocks between these two. The
// first port of a block is listened on as long as the network is open: it is
// what keeps two networks of one machine apart, also while a node is down, and
// it is free again however its owner ends.
const (
	firstBlock = 10240
	blockSize  = 64
)

// loopback is a network where every host is 127.0.0.1 and ports tell them
// apart.
type loopback struct {
	isolation string
	starter   *starter
	last      int // no port at or above it

	mu     sync.Mutex
	hosts  map[string]*loopbackHost
	blocks []net.Listener
	next   int // in the last block
}

type loopbackHost struct {
	network *loopback
	name    string
	ports   map[string]int
}

// NewLoopback returns the network for machines without namespaces of our own.
// Processes started on it die with this process as far as the system can do
// that. Isolation is its name; "" is loopback.
func NewLoopback(isolation string) Network {
	return &loopback{
		isolation: cmp.Or(isolation, "loopback"), starter: newStarter(),
		last: min(outgoingPorts(), 32768), hosts: map[string]*loopbackHost{},
	}
}

func (l *loopback) Isolation() string { return l.isolation }

func (l *loopback) Host(name string) (Host, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hosts[name] == nil {
		l.hosts[name] = &loopbackHost{network: l, name: name, ports: map[string]int{}}
	}
	return l.hosts[name], nil
}

func (l *loopback) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, block := range l.blocks {
		block.Close()
	}
	l.blocks = nil
	l.starter.close()
	return nil
}

// free answers the next port of the network's own on which nothing listens.
func (l *loopback) free() (int, error) {
	for {
		if len(l.blocks) == 0 || l.next == blockSize {
			if err := l.reserve(); err != nil {
				return 0, err
			}
		}
		port := l.blocks[len(l.blocks)-1].Addr().(*net.TCPAddr).Port + l.next
		l.next++
		if unused(port) {
			return port, nil
		}
	}
}

// reserve takes another block, beginning to look anywhere.
func (l *loopback) reserve() error {
	blocks := (l.last - firstBlock) / blockSize
	if blocks <= 0 {
		return fmt.Errorf("no port between %d and %d, where outgoing connections begin; raise net.ipv4.ip_local_port_range", firstBlock, l.last)
	}
	first := rand.IntN(blocks)
	for i := range blocks {
		base := firstBlock + (first+i)%blocks*blockSize
		hold, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(base)))
		if err == nil {
			l.blocks, l.next = append(l.blocks, hold), 1
			return nil
		}
	}
	return fmt.Errorf("no free block of %d ports between %d and %d; stop other experiments", blockSize, firstBlock, l.last)
}

// unused reports whether nothing listens on the port, at any address: there
// are brokers that listen at all of them.
func unused(port int) bool {
	address := ":" + strconv.Itoa(port)
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	return udp.Close() == nil
}

func (h *loopbackHost) Name() string    { return h.name }
func (h *loopbackHost) Address() string { return "127.0.0.1" }

func (h *loopbackHost) Port(service string, _ int) (int, error) {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	if port, ok := h.ports[service]; ok {
		return port, nil
	}
	port, err := h.network.free()
	if err != nil {
		return 0, fmt.Errorf("find a port for %s of %s: %w", service, h.name, err)
	}
	h.ports[service] = port
	return port, nil
}

func (h *loopbackHost) Start(cmd *exec.Cmd) error {
	dieWithParent(cmd)
	return h.network.starter.start(cmd)
}

// A starter starts processes from one thread that lives as long as the starter.
// A parent-death signal is sent when the thread that started the process ends,
// and the thread of a goroutine locked to it may end at any time.
type starter struct {
	jobs chan startJob
	once sync.Once
}

type startJob struct {
	cmd *exec.Cmd
	err chan error
}

func newStarter() *starter {
	s := &starter{jobs: make(chan startJob)}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread() // else the thread would end here
		for job := range s.jobs {
			job.err <- job.cmd.Start()
		}
	}()
	return s
}

func (s *starter) start(cmd *exec.Cmd) error {
	job := startJob{cmd: cmd, err: make(chan error, 1)}
	s.jobs <- job
	return <-job.err
}

func (s *starter) close() { s.once.Do(func() { close(s.jobs) }) }
