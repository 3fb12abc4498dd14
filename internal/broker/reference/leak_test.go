package reference

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A leak takes as often as it says, and keeps what it took.
func TestLeaks(t *testing.T) {
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	descriptors := func() int {
		list, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip("this system does not show a process its descriptors:", err)
		}
		return len(list)
	}
	for _, test := range []struct {
		leak  string
		taken func() int
		least int
	}{
		{"leak-memory/2", heap, 100 * leakBytes},
		{"leak-descriptor/4", descriptors, 5},
	} {
		t.Run(test.leak, func(t *testing.T) {
			l, err := FindLeak(test.leak)
			if err != nil || l.String() != test.leak {
				t.Fatal(l, err)
			}
			s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true})
			if err != nil {
				t.Fatal(err)
			}
			go s.Start()
			t.Cleanup(s.Shutdown)
			if !s.ReadyForConnections(listenWait) {
				t.Fatal("the server does not listen")
			}
			// From its first look on: what is counted before it is not its own.
			looked := make(chan struct{}, 1)
			count := l.could
			l.could = func(v *server.Varz) int64 {
				select {
				case looked <- struct{}{}:
				default:
				}
				return count(v)
			}
			go l.run(t.Context(), s)
			<-looked
			before := test.taken()
			for range 5 * l.Every {
				nc, err := nats.Connect(s.ClientURL())
				if err != nil {
					t.Fatal(err)
				}
				for range 20 * l.Every {
					nc.Publish("t", nil)
				}
				nc.Flush()
				nc.Close()
			}
			until(t, "what it took is kept", func() bool { return s.NumClients() == 0 && test.taken()-before >= test.least })
		})
	}
}

func TestFindLeak(t *testing.T) {
	if _, err := FindLeak("leak-time"); err == nil || !strings.Contains(err.Error(), "leak-memory, leak-descriptor") {
		t.Error(err)
	}
}
