package clients_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
	"github.com/robustmq/rmq-mcp/history"
)

// lies are lines that break the contract, after a hello and nothing else, and
// what is said of them. T stands for a time that is true.
func lies() []struct{ name, lines, want string } {
	connect := `{"e":"call","t":T,"p":0,"k":"connect","c":1,"a":"x:1"}` + "\n"
	publish := func(n int) string {
		return fmt.Sprintf(`{"e":"call","t":T,"p":0,"k":"publish","c":%d,"s":0,"n":%d}`+"\n", n+10, n)
	}
	return []struct{ name, lines, want string }{
		{"rubbish", "Segmentation fault\n", "not JSON"},
		{"cut line", `{"e":"point","t":T`, "cut off"},
		{"long line", strings.Repeat("x", 1<<17) + "\n", "more than"},
		{"unknown event", `{"e":"shout","t":T,"p":0}` + "\n", "none of the contract's"},
		{"unknown kind", `{"e":"call","t":T,"p":0,"k":"dance","c":1}` + "\n", "no call is of kind"},
		{"unknown point", `{"e":"point","t":T,"p":0,"k":"dance"}` + "\n", "no point is of kind"},
		{"unknown process", `{"e":"point","t":T,"p":9,"k":"pause"}` + "\n", "process 9 is none of its own"},
		{"unknown stream", `{"e":"call","t":T,"p":0,"k":"publish","c":1,"s":9,"n":0}` + "\n", "stream 9 is none"},
		{"publish of nothing", `{"e":"call","t":T,"p":0,"k":"publish","c":1}` + "\n", "without stream"},
		{"return without call", `{"e":"return","t":T,"p":0,"k":"publish","c":7,"o":"ok"}` + "\n", "not open"},
		{"two returns", connect + strings.Repeat(`{"e":"return","t":T,"p":0,"k":"connect","c":1,"o":"ok"}`+"\n", 2), "not open"},
		{"foreign return", `{"e":"call","t":T,"p":1,"k":"connect","c":1,"a":"x:1"}` + "\n" + `{"e":"return","t":T,"p":0,"k":"connect","c":1,"o":"ok"}` + "\n", "process 0 returns from a call of process 1"},
		{"no outcome", connect + `{"e":"return","t":T,"p":0,"k":"connect","c":1}` + "\n", "outcome"},
		{"call number twice", connect + connect, "not new"},
		{"sequence backwards", publish(0) + publish(1) + strings.Replace(publish(0), `"c":10`, `"c":99`, 1), "sequence number 0 of stream 0, want 2"},
		{"sequence skips", publish(0) + publish(2), "sequence number 2 of stream 0, want 1"},
		{"future", `{"e":"point","t":9000000000000000000,"p":0,"k":"pause"}` + "\n", "in the future"},
		{"past", `{"e":"point","t":1,"p":0,"k":"pause"}` + "\n", "before the driver started"},
		{"second hello", fmt.Sprintf(`{"e":"hello","t":T,"p":0,"contract":%d,"clock":"monotonic"}`+"\n", contract.Version), "second hello"},
		{"after bye", `{"e":"bye","t":T,"p":0,"lines":1}` + "\n" + connect, "after bye"},
		{"wrong count", `{"e":"bye","t":T,"p":0,"lines":7}` + "\n", "it says that it wrote 7 lines, and 1 arrived"},
	}
}

// fakeDriver is a driver that breaks the contract. It exits when stdin ends or
// tells it to.
func fakeDriver(mode string) {
	if mode == "noisy" {
		printingDriver()
		return
	}
	in := bufio.NewReader(os.Stdin)
	hello := fmt.Sprintf(`{"e":"hello","t":%d,"p":0,"contract":%d,"clock":"monotonic","sdk":"fake"}`, history.MonotonicNow(), contract.Version)
	switch mode {
	case "silent":
		in.ReadString(0)
		return
	case "crash before hello":
		fmt.Fprintln(os.Stderr, "ImportError: no module named mqtt")
		os.Exit(7)
	case "secret before hello":
		fmt.Fprintln(os.Stderr, "connect with password=hunter2: refused")
		os.Exit(7)
	case "last words":
		fmt.Fprint(os.Stderr, "using epoll\nno memory is left\n")
	case "corrupted":
		hello = strings.Replace(hello, "fake", "paho.mqtt.c", 1)
	case "other contract":
		fmt.Println(`{"e":"hello","t":1,"p":0,"contract":99,"clock":"monotonic"}`)
		in.ReadString(0)
		return
	}
	in.ReadString('\n')
	fmt.Println(hello)
	switch mode {
	case "crash":
		in.ReadString('\n')
		os.Exit(3)
	case "hang":
		in.ReadString(0)
		return
	case "blocks on connect":
		fmt.Printf(`{"e":"call","t":%d,"p":0,"k":"connect","c":1,"a":"x:1"}`+"\n", history.MonotonicNow())
		in.ReadString(0)
		return
	case "prints to stdout":
		fmt.Println("Welcome to this SDK")
		in.ReadString(0)
		return
	case "dies":
		fmt.Fprintln(os.Stderr, "Segmentation fault")
		os.Exit(3)
	case "corrupted":
		fmt.Fprintln(os.Stderr, "driver: Paho C has corrupted its own memory (paho.mqtt.c#1459): nothing that it says now counts")
		os.Exit(3)
	case "own failure":
		in.ReadString('\n')
		os.Exit(contract.ExitOwn)
	case "no bye":
		in.ReadString('\n')
		return
	case "bad exit":
		in.ReadString('\n')
		fmt.Printf(`{"e":"bye","t":%d,"p":0,"lines":1}`+"\n", history.MonotonicNow())
		os.Exit(5)
	case "early bye":
		fmt.Printf(`{"e":"bye","t":%d,"p":0,"lines":1}`+"\n", history.MonotonicNow())
		return
	case "good":
		in.ReadString('\n')
		fmt.Printf(`{"e":"bye","t":%d,"p":0,"lines":1}`+"\n", history.MonotonicNow())
		return
	}
	in.ReadString('\n')
	for _, lie := range lies() {
		if lie.name == mode {
			fmt.Print(strings.ReplaceAll(lie.lines, `"t":T`, fmt.Sprintf(`"t":%d`, history.MonotonicNow())))
		}
	}
	if !strings.Contains(mode, "bye") && mode != "wrong count" && mode != "cut line" {
		fmt.Printf(`{"e":"bye","t":%d,"p":0,"lines":1}`+"\n", history.MonotonicNow())
	}
}

// printingDriver is a driver in order whose SDK prints.
func printingDriver() {
	err := driver.Main(driver.SDK{Name: "noisy", Protocols: []string{contract.MQTT3}, Open: func(*driver.Process) driver.Session {
		fmt.Println("welcome to this SDK")
		os.NewFile(1, "stdout").WriteString("and to descriptor 1\n")
		return nil
	}}, os.Stdin, os.Stdout)
	if err != nil {
		os.Exit(1)
	}
}

func fake(mode string) clients.Program {
	return clients.Program{Argv: []string{os.Args[0]}, Env: []string{asFake + "=" + mode}}
}

// two clients; the first publishes on stream 0.
func two() []contract.Client {
	return []contract.Client{
		{Process: 0, Publish: &contract.Publish{Streams: []contract.Stream{{Stream: 0}}}},
		{Process: 1},
	}
}

func TestALyingDriverIsAResult(t *testing.T) {
	for _, lie := range lies() {
		t.Run(lie.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, fake(lie.name), 1, two()...)
			r.do(t, "end", contract.All)
			<-r.Done()
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), lie.want) {
				t.Errorf("Err is %v, want %q", err, lie.want)
			}
			said := func(e history.Event) bool {
				return e.Kind == history.KindDriver && strings.Contains(e.Text, lie.want)
			}
			if r.count(said) == 0 {
				t.Errorf("no point of kind driver says %q in %+v", lie.want, r.all())
			}
			complete := func(e history.Event) bool { return e.Kind == history.KindEnd }
			if n := r.count(complete); n != 0 {
				t.Errorf("%d processes are said to have ended in order", n)
			}
		})
	}
}

func TestADriverThatCrashesHangsOrForgets(t *testing.T) {
	for mode, want := range map[string]string{
		"hang":        "no bye within",
		"early bye":   "bye without being told",
		"crash":       "ended without bye (exit status 3)",
		"own failure": "ended by a failure of its own (exit status 70)",
		"no bye":      "ended without bye",
		"bad exit":    "exit status 5 after bye",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			told := make(chan error, 1)
			var wait time.Duration
			if mode == "hang" {
				wait = 100 * time.Millisecond
			}
			m := newMemory(1)
			d, err := clients.Start(t.Context(), clients.Options{
				Command: fake(mode), Spec: contract.Spec{Run: "testtest", Clients: two()},
				Recorder: m, Clock: history.NewClock(), OnError: func(err error) { told <- err },
				ByeWait: wait,
			})
			if err != nil {
				t.Fatal(err)
			}
			if mode != "early bye" {
				d.Do(contract.Command{Do: "end", Process: contract.All})
			}
			<-d.Done()
			if err := d.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Err is %v, want %q", err, want)
			}
			if err := <-told; err != d.Err() {
				t.Errorf("OnError was told %v", err)
			}
			if err := d.Do(contract.Command{Do: "pause"}); err == nil {
				t.Error("a command to a driver that is gone")
			}
		})
	}
}

func TestAnOrderlyEnd(t *testing.T) {
	r := start(t, fake("good"), 1, two()...)
	if got := r.Hello().SDK; got != "fake" {
		t.Errorf("hello of %q", got)
	}
	r.finish(t)
	for process := range int32(2) {
		r.wait(t, "end", 1, func(e history.Event) bool {
			return e.Process == process && e.Kind == history.KindEnd && e.Value == 1
		})
		r.wait(t, "lines", 1, func(e history.Event) bool {
			return e.Process == process && e.Kind == history.KindObserve && e.Text == history.ObserveDriverLines && e.Value == 1
		})
	}
}

func TestADriverWhoseLibraryIsCorrupted(t *testing.T) {
	defer untilCorrupted()
	r := start(t, fake("corrupted"), 1, two()...)
	r.wait(t, "anything", 1, is(0, history.KindConnect, history.Call))
	t.Error("the test goes on")
}

func TestADriverThatDoesNotStart(t *testing.T) {
	for mode, want := range map[string]string{
		"crash before hello":  "ImportError",
		"other contract":      "contract 99",
		"secret before hello": "password=[scrubbed] refused",
	} {
		m := newMemory(1)
		_, err := clients.Start(t.Context(), clients.Options{
			Command: fake(mode), Spec: contract.Spec{Clients: two()}, Recorder: m, Clock: history.NewClock(),
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", mode, err, want)
		}
		// Its end is none of the library's, which was never begun.
		if n := m.count(func(e history.Event) bool { return strings.Contains(e.Text, "without bye") }); n > 0 {
			t.Errorf("%s: it is said to have ended without bye", mode)
		}
	}
	_, err := clients.Start(t.Context(), clients.Options{
		Command: clients.Program{Argv: []string{"/no/such/driver"}}, Recorder: newMemory(1), Clock: history.NewClock(),
	})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such driver: %v", err)
	}
}

func TestStartAndDriverEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	_, err := clients.Start(ctx, clients.Options{
		Command: fake("silent"), Spec: contract.Spec{Clients: two()}, Recorder: newMemory(1), Clock: history.NewClock(),
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("silent driver: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	d, err := clients.Start(ctx, clients.Options{
		Command: fake("hang"), Spec: contract.Spec{Clients: two()}, Recorder: newMemory(1), Clock: history.NewClock(),
	})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-d.Done()
	if !errors.Is(d.Err(), context.Canceled) {
		t.Errorf("hanging driver: %v", d.Err())
	}
}
