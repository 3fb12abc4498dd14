package cluster

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// The test binary plays every part: starRole in the environment says which.
const starRole = "RMQ_TEST_STAR_ROLE"

func TestStarRefusesTheHostsNetwork(t *testing.T) {
	if os.Getenv(starRole) != "" {
		return
	}
	if _, err := NewStar(); err == nil {
		t.Fatal("NewStar took over the network of the host")
	}
}

func TestStarAsRoot(t *testing.T) {
	if os.Getuid() != 0 {
		hosttest.Skip(t, "needs root")
	}
	before := interfaces(t)
	router, out := startRouter(t, syscall.CLONE_NEWPID|syscall.CLONE_NEWNET|syscall.CLONE_NEWNS)
	watchStar(t, router, out)
	if diff := cmp.Diff(before, interfaces(t)); diff != "" {
		t.Errorf("interfaces of the host changed (-before +after):\n%s", diff)
	}
}

// TestStarAsUser runs itself again as nobody where it is root.
func TestStarAsUser(t *testing.T) {
	if os.Getuid() == 0 {
		cmd := exec.Command(hosttest.Copy(t), "-test.run=^TestStarAsUser$", "-test.v")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("as nobody: %v\n%s", err, out)
		}
		if bytes.Contains(out, []byte("--- SKIP")) {
			hosttest.Skip(t, string(out))
		}
		return
	}
	flags := syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS
	router, out := startRouter(t, uintptr(flags))
	watchStar(t, router, out)
}

// startRouter starts TestStarRouter as process 1 of new namespaces.
func startRouter(t *testing.T, flags uintptr) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestStarRouter$")
	cmd.Env = append(os.Environ(), starRole+"=router")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	if flags&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		hosttest.Skip(t, "no namespaces: "+err.Error())
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// watchStar reads what the router says, kills it, and looks for leftovers.
func watchStar(t *testing.T, router *exec.Cmd, out *bufio.Scanner) {
	t.Helper()
	var said []string
	for out.Scan() && !strings.HasPrefix(out.Text(), "serving") {
		said = append(said, out.Text())
	}
	want := []string{
		"router > node-1: I am node-1", "router > node-2: I am node-2", "router > node-3-with-a-long-name: I am node-3-with-a-long-name",
		"node-1 > node-2: I am node-2", "node-1 > node-3-with-a-long-name: I am node-3-with-a-long-name",
		"node-2 > node-1: I am node-1", "node-2 > node-3-with-a-long-name: I am node-3-with-a-long-name",
		"node-3-with-a-long-name > node-1: I am node-1", "node-3-with-a-long-name > node-2: I am node-2",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Fatalf("who reached whom (-want +got):\n%s", diff)
	}
	left := childrenOf(t, router.Process.Pid)
	if len(left) < 3 {
		t.Fatalf("the router has %d children, want its three nodes", len(left))
	}
	if err := router.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	router.Wait()
	for deadline := time.Now().Add(hosttest.Bound); len(left) > 0; {
		left = slices.DeleteFunc(left, func(pid string) bool {
			_, err := os.Stat("/proc/" + pid)
			return err != nil
		})
		if time.Now().After(deadline) {
			t.Fatalf("processes %v outlived the router by %v", left, hosttest.Bound)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestStarRouter is not a test: it is process 1 of the namespaces.
func TestStarRouter(t *testing.T) {
	if os.Getenv(starRole) != "router" {
		return // it is started by the other tests
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
	net, err := NewStar()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []Host
	for _, name := range []string{"node-1", "node-2", "node-3-with-a-long-name"} {
		h, err := net.Host(name)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, h)
		startPart(t, h, "node", "", "I am "+name)
	}
	for _, to := range hosts {
		fmt.Printf("router > %s: %s\n", to.Name(), hear(to.Address()))
	}
	for _, from := range hosts {
		for _, to := range hosts {
			if to != from {
				fmt.Printf("%s > %s: %s\n", from.Name(), to.Name(), startPart(t, from, "caller", to.Address(), ""))
			}
		}
	}
	if again, err := net.Host("node-1"); err != nil || again != hosts[0] {
		t.Errorf("Host(node-1) a second time: %v, %v", again, err)
	}
	fmt.Println("serving")
	select {}
}

// startPart starts the test binary on a host and answers its first line.
func startPart(t *testing.T, h Host, role, peer, text string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestStarPart$")
	cmd.Env = append(os.Environ(), starRole+"="+role, "PEER="+peer, "TEXT="+text, "ADDRESS="+h.Address())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // taken off by Start, or nothing would answer
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(cmd); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s on %s: %v", role, h.Name(), err)
	}
	return strings.TrimSpace(line)
}

// TestStarPart is not a test: it is what runs on a host.
func TestStarPart(t *testing.T) {
	switch os.Getenv(starRole) {
	case "node":
		l, err := net.Listen("tcp", os.Getenv("ADDRESS")+":1883")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("listening")
		for {
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(conn, os.Getenv("TEXT"))
			conn.Close()
		}
	case "caller":
		fmt.Println(hear(os.Getenv("PEER")))
	default:
		return // it is started by the other tests
	}
}

// hear connects to a node and answers what it says.
func hear(address string) string {
	conn, err := net.DialTimeout("tcp", address+":1883", hosttest.Bound)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestStarAddresses(t *testing.T) {
	for _, c := range []struct {
		n            int
		router, host string
	}{
		{1, "198.18.1.1", "198.18.1.2"},
		{255, "198.18.255.1", "198.18.255.2"},
		{256, "198.19.1.1", "198.19.1.2"},
		{maxHosts, "198.19.255.1", "198.19.255.2"},
	} {
		router, host := addresses(c.n)
		if router.String() != c.router || host.String() != c.host {
			t.Errorf("addresses(%d) = %v, %v, want %s, %s", c.n, router, host, c.router, c.host)
		}
	}
}

func TestStarLinkName(t *testing.T) {
	a, b := linkName("driver-python-paho-1"), linkName("driver-python-paho-2")
	if len(a) >= unix.IFNAMSIZ || a == b {
		t.Errorf("links %q and %q: want two different names of at most %d bytes", a, b, unix.IFNAMSIZ-1)
	}
	if got := linkName("node-1"); got != "node-1" {
		t.Errorf("linkName(node-1) = %q", got)
	}
}

func interfaces(t *testing.T) []string {
	t.Helper()
	faces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range faces {
		names = append(names, f.Name)
	}
	return names
}

// childrenOf lists the pids, as text, whose parent is pid.
func childrenOf(t *testing.T, pid int) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		after := stat[bytes.LastIndexByte(stat, ')')+1:]
		if fields := strings.Fields(string(after)); len(fields) > 1 && fields[1] == fmt.Sprint(pid) {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	return found
}
