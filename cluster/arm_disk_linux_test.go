package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// startArmed starts a cluster on disks of ours.
func startArmed(t *testing.T, config Config) (context.Context, *Cluster, Options) {
	t.Helper()
	if err := disk.Available(); err != nil {
		hosttest.Skip(t, err.Error())
	}
	config.Arm = []string{ArmDisk}
	if _, _, err := check(config); err != nil {
		hosttest.Skip(t, err.Error())
	}
	opts := optionsFor(t, config)
	ctx, cancel := context.WithTimeout(context.Background(), testBound)
	t.Cleanup(cancel)
	t.Cleanup(func() { disk.Release(opts.Dir) })
	c, err := Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		c.disarm()
	})
	return ctx, c, opts
}

// The nodes' data go through the layers, and are there as plain files after
// the cluster's end.
func TestArmedDisk(t *testing.T) {
	ctx, c, opts := startArmed(t, Config{Flavor: "reference", Nodes: 3})
	var served []int
	for _, n := range c.Nodes() {
		s, err := n.Disk().Stats(ctx)
		if err != nil || s.Ops[disk.Write] == 0 {
			t.Errorf("%s wrote nothing through its disk: %v, %v", n.Name(), s.Ops, err)
		}
		if took, errno, err := n.Disk().Probe.Touch(ctx, string(disk.Fsync), 1); took == 0 || errno != "" || err != nil {
			t.Errorf("probe of %s: %v %s %v", n.Name(), took, errno, err)
		}
		after, err := n.Disk().Stats(ctx)
		if err != nil || after.Probes[disk.Fsync] == 0 {
			t.Errorf("the probe of %s is not counted as one: %v, %v", n.Name(), after.Probes, err)
		}
		served = append(served, n.Disk().Info().PID)
	}
	if _, errno, err := c.Plain().Touch(ctx, string(disk.Fsync), 1); errno != "" || err != nil {
		t.Errorf("probe of the plain directory: %s %v", errno, err)
	}
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
	for i, n := range c.Nodes() {
		if files, err := os.ReadDir(n.data); err != nil || len(files) == 0 {
			t.Errorf("the data of %s are not in %s: %v, %v", n.Name(), n.data, files, err)
		}
		if err := syscall.Kill(served[i], 0); err == nil {
			t.Errorf("process %d of the disk of %s is still there", served[i], n.Name())
		}
	}
	wantUnmounted(t, opts.Dir)
}

func wantUnmounted(t *testing.T, dir string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("something is mounted below %s, or %v", dir, err)
	}
}

// A disk whose process is stopped holds the broker, also against SIGKILL. The
// node can be killed and the cluster stopped all the same, in bounded time.
func TestStopWithADiskThatHangs(t *testing.T) {
	hosttest.Long(t, "it waits for bounds")
	t.Parallel()
	ctx, c, opts := startArmed(t, Config{Flavor: "mosquitto", Settings: map[string]any{"autosave_interval": 1, "autosave_on_changes": true}})
	n := c.Nodes()[0]
	n.stopBound = time.Second
	publishSaved(t, n, "what it stored")
	client := connect(t, n)
	pid := n.Disk().Info().PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	client.Publish("register", 1, true, "what it cannot store")
	for where := ""; !strings.Contains(where, "request_wait_answer"); time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", n.PID()))
		if where = string(b); err != nil || ctx.Err() != nil {
			t.Fatalf("the broker does not wait for its disk but in %q: %v", where, err)
		}
	}
	began := time.Now()
	if err := c.Stop(ctx); err == nil {
		t.Error("a disk that was stopped ended in order")
	}
	if took := time.Since(began); took > hosttest.Bound {
		t.Errorf("it took %v", took)
	}
	if p := n.process(); !p.exited() {
		t.Errorf("%s is still there", n.Name())
	}
	if saved, err := os.ReadDir(n.data); err != nil || len(saved) == 0 {
		t.Errorf("its data were not given back: %v, %v", saved, err)
	}
	for deadline := time.Now().Add(hosttest.Bound); syscall.Kill(pid, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d of the disk is still there", pid)
		}
	}
	wantUnmounted(t, opts.Dir)
}

// A start that fails leaves no mount.
func TestStartFailsArmed(t *testing.T) {
	if err := disk.Available(); err != nil {
		hosttest.Skip(t, err.Error())
	}
	script := filepath.Join(t.TempDir(), "broker")
	text := "#!/bin/sh\n[ \"$1\" = -h ] && { echo 'mosquitto version 9'; exit; }\nexit 3\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	opts := optionsFor(t, Config{Flavor: "mosquitto", Binary: script, Arm: []string{ArmDisk}})
	if _, err := Start(context.Background(), opts); err == nil {
		t.Fatal("a broker that ends at once was started")
	}
	wantUnmounted(t, opts.Dir)
}

func TestDiskModel(t *testing.T) {
	tests := []struct {
		config Config
		want   string
	}{
		{Config{Arm: []string{ArmDisk}, DiskModel: "strict"}, ""},
		{Config{Arm: []string{ArmDisk}, DiskModel: "fat"}, "choose ext4, xfs or strict"},
		{Config{DiskModel: "ext4"}, "set arm to [disk]"},
	}
	for _, test := range tests {
		_, _, err := check(test.config)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", test.config, err, test.want)
		}
	}
}

// mosquitto saves what it knows to a new file, syncs that, and renames it over
// the old one, without an fsync of the directory. A kill does not undo the
// rename; a power loss does, and what was acknowledged and saved is gone.
func TestMosquittoForgetsItsRename(t *testing.T) {
	for _, end := range []string{"kill", "power loss"} {
		t.Run(end, func(t *testing.T) {
			ctx, c, _ := startArmed(t, Config{Flavor: "mosquitto", Settings: map[string]any{"autosave_interval": 1, "autosave_on_changes": true}})
			n := c.Nodes()[0]
			publishSaved(t, n, "first")
			publishSaved(t, n, "second")
			want := "second"
			if end == "power loss" {
				want = "first"
				if _, err := n.Disk().Cut(ctx); err != nil {
					t.Fatal(err)
				}
			}
			set(t, ctx, n, "killed")
			if end == "power loss" {
				if lost, err := n.Disk().Crash(ctx, disk.Crash{Policy: disk.LoseAll}); err != nil || lost.Dropped.Entries == 0 {
					t.Fatalf("lost %+v, %v", lost.Dropped, err)
				}
			}
			set(t, ctx, n, "running")
			if got := retained(t, n); got != want {
				t.Errorf("after a %s the retained message is %q, want %q", end, got, want)
			}
			s, err := n.Disk().Stats(ctx)
			if err != nil || s.Ops[disk.Fsync] == 0 || s.Ops[disk.FsyncDir] != 0 {
				t.Errorf("it synced %d files and %d directories, %v", s.Ops[disk.Fsync], s.Ops[disk.FsyncDir], err)
			}
		})
	}
}

// publishSaved publishes a retained message, which is acknowledged, and waits
// until the broker saved it.
func publishSaved(t *testing.T, n *Node, text string) {
	t.Helper()
	client := connect(t, n)
	await(t, client.Publish("register", 1, true, text))
	client.Disconnect(100)
	for deadline := time.Now().Add(hosttest.Bound); ; time.Sleep(5 * time.Millisecond) {
		// In the layer's own tree: this process does not touch the mount.
		saved, _ := os.ReadFile(filepath.Join(n.Disk().Info().Tree, "mosquitto.db"))
		if strings.Contains(string(saved), text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not save %q", n.Name(), text)
		}
	}
}

func retained(t *testing.T, n *Node) string {
	t.Helper()
	client := connect(t, n)
	defer client.Disconnect(100)
	got := make(chan string, 1)
	await(t, client.Subscribe("register", 1, func(_ mqtt.Client, m mqtt.Message) { got <- string(m.Payload()) }))
	select {
	case text := <-got:
		return text
	case <-time.After(hosttest.Bound):
		return ""
	}
}

func connect(t *testing.T, n *Node) mqtt.Client {
	t.Helper()
	client := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://" + n.MQTT()).SetClientID("test").SetAutoReconnect(false))
	await(t, client.Connect())
	return client
}

func await(t *testing.T, token mqtt.Token) {
	t.Helper()
	if !token.WaitTimeout(hosttest.Bound) || token.Error() != nil {
		t.Fatalf("no answer, or %v", token.Error())
	}
}
