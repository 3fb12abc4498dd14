package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A script answers a packet by its type, on a connection of a version; it closes
// the connection where nothing is answered, and after a DISCONNECT.
type script func(v Version, kind byte) []byte

// scripted serves by a script.
func scripted(t *testing.T, answer script) string {
	t.Helper()
	return hosttest.Serve(t, answer.serve)
}

func (answer script) serve(conn net.Conn) {
	version := V311
	for r := bufio.NewReader(conn); ; {
		var head [2]byte // the tests send nothing longer than 127 bytes
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		body := make([]byte, head[1])
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		if head[0]>>4 == packets.Connect {
			version = Version(body[6])
		}
		out := answer(version, head[0]>>4)
		if out == nil {
			return
		}
		conn.Write(out)
		if bytes.HasSuffix(out, goodbye) {
			return
		}
	}
}

func connack(v Version, code byte) []byte { return frame(0x20, []byte{0, code}, props(v)) }

var pingresp, goodbye = []byte{0xd0, 0}, frame(0xe0, []byte{0x81})

// A broker that does not let us in is an error; one that does not speak a
// version, or greets in a wrong way, has results.
func TestGreet(t *testing.T) {
	for _, test := range []struct {
		name    string
		connack func(Version) []byte
		err     string
		want    map[string]Verdict
	}{
		{"password", func(v Version) []byte { return connack(v, map[Version]byte{V311: 5, V5: 0x86}[v]) }, "refused the first connection with 0x05", nil},
		{"closes", func(Version) []byte { return nil }, "whatever its version", nil},
		{"closes for 5.0", func(v Version) []byte {
			if v == V5 {
				return nil
			}
			return connack(v, 0)
		}, "", map[string]Verdict{"3.1.1 connect/accepted": Conforms, "5.0 connect/accepted": Unsupported, "3.1.1 keep-alive/ping": Conforms, "5.0 keep-alive/ping": Unsupported}},
		{"refuses 5.0", func(v Version) []byte { return connack(V311, map[Version]byte{V5: 1}[v]) },
			"", map[string]Verdict{"3.1.1 connect/accepted": Conforms, "5.0 connect/accepted": Unsupported, "3.1.1 keep-alive/ping": Conforms, "5.0 keep-alive/ping": Unsupported}},
		{"malformed for 5.0", func(v Version) []byte {
			if v == V5 {
				return frame(0x20, []byte{0, 0, 9})
			}
			return connack(v, 0)
		}, "", map[string]Verdict{"3.1.1 connect/accepted": Conforms, "5.0 connect/accepted": Violates, "3.1.1 keep-alive/ping": Conforms, "5.0 keep-alive/ping": Undecided}},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := scripted(t, func(v Version, kind byte) []byte {
				if kind == packets.Connect {
					return test.connack(v)
				}
				return pingresp
			})
			results, err := Run(t.Context(), Options{To: at, Statements: only("connect/accepted", "keep-alive/ping")})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("the error is %v, expected %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if want := test.want[r.Version.String()+" "+r.Name]; r.Verdict != want {
					t.Errorf("expected %s: %s", want, told(r))
				}
			}
		})
	}
}

// Only the version of the statements is tried.
func TestGreetOnlyTheirs(t *testing.T) {
	at := scripted(t, func(v Version, kind byte) []byte {
		switch {
		case v == V5:
			return connack(v, 0x86)
		case kind == packets.Connect:
			return connack(v, 0)
		}
		return pingresp
	})
	statements := only("connect/accepted")[:1]
	results, err := Run(t.Context(), Options{To: at, Statements: statements})
	if err != nil || len(results) != 1 || results[0].Verdict != Conforms {
		t.Errorf("%v, error %v", results, err)
	}
}

// A broker's refusal may come after an answer to PINGREQ.
func TestRefusedLate(t *testing.T) {
	for name, late := range map[string]func(Version) []byte{
		"malformed/subscribe-id-0": func(v Version) []byte { return frame(0x90, u16(0), props(v), []byte{0x80}) },
		"malformed/auth-unasked":   func(Version) []byte { return goodbye },
	} {
		at := scripted(t, func(v Version, kind byte) []byte {
			switch kind {
			case packets.Connect:
				return connack(v, 0)
			case packets.Pingreq:
				return slicesOf(pingresp, late(v))
			}
			return []byte{}
		})
		results, err := Run(t.Context(), Options{To: at, Statements: only(name), Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(results) == 0 {
			t.Errorf("%s is not there", name)
		}
		for _, r := range results {
			if r.Verdict != Conforms {
				t.Error(told(r))
			}
		}
	}
}

func TestPanicIsUndecided(t *testing.T) {
	x := Options{}.exam(V5, 1)
	x.run(context.Background(), func(*exam) { panic(errors.New("of a check")) })
	if x.verdict != Undecided || !strings.Contains(x.why, "of a check") {
		t.Errorf("%s: %s", x.verdict, x.why)
	}
}

// A broker without QoS 2 may end the connection for a PUBREL.
func TestNoProblemInfoWithoutQoS2(t *testing.T) {
	at := scripted(t, func(v Version, kind byte) []byte {
		switch kind {
		case packets.Connect:
			return frame(0x20, []byte{0, 0}, []byte{2, 0x24, 1}) // Maximum QoS 1
		case packets.Publish:
			return frame(0x40, u16(firstID+1))
		case packets.Subscribe:
			return frame(0x90, u16(firstID+2), props(v), []byte{0})
		case packets.Unsubscribe:
			return frame(0xb0, u16(firstID+3), props(v), []byte{0x11})
		}
		return goodbye
	})
	for _, s := range only("property/request-problem-information") {
		results, err := Run(t.Context(), Options{To: at, Statements: []Statement{s}, Parallel: 1})
		if err != nil || results[0].Verdict != Conforms {
			t.Errorf("error %v, %s", err, told(results[0]))
		}
	}
}

// No answer is larger than the client takes.
func TestAnswersFit(t *testing.T) {
	at := scripted(t, func(v Version, kind byte) []byte {
		if kind != packets.Connect {
			return pingresp
		}
		return frame(0x20, []byte{0, 0}, props(v, []byte{packets.PropReasonString}, str(strings.Repeat("x", 40))))
	})
	results, err := Run(t.Context(), Options{To: at, Statements: only("flow/answers-fit"), Known: []Known{{Name: "flow/answers-fit"}}, Wait: time.Second})
	if err != nil || len(results) != 1 || results[0].Verdict != Violates || !strings.Contains(results[0].Why, "a CONNACK of 48 bytes") {
		t.Errorf("%v, error %v", results, err)
	}
}
