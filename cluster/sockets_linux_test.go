package cluster

import (
	"net"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The kernel's table of this process, read as a node's is.
func TestEstablished(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client.(*net.TCPConn).SetReadBuffer(4096)
	server.(*net.TCPConn).SetWriteBuffer(1 << 20)
	if _, err := server.Write(make([]byte, 512<<10)); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("/proc/self/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	inState(stateEstablished, table, uint16(l.Addr().(*net.TCPAddr).Port), got)
	if len(got) != 1 || got[client.LocalAddr().String()] == 0 {
		t.Errorf("%v, want unsent bytes to %s alone", got, client.LocalAddr())
	}
	sixth := map[string]int64{} // a listener of both families shows clients of the old one so
	inState(stateEstablished, []byte("  0: 0000000000000000FFFF00000100007F:075B 0000000000000000FFFF00000201A8C0:C001 01 00000010:00000000\n"), 1883, sixth)
	if diff := cmp.Diff(map[string]int64{"192.168.1.2:49153": 16}, sixth); diff != "" {
		t.Error(diff)
	}
}
