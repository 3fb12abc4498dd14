package clients

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// read records all that the driver writes, and how it went.
func (d *Driver) read(stdout *os.File) {
	defer close(d.done)
	lines := bufio.NewReaderSize(stdout, maxLine)
	exit := make(chan error, 1)
	go func() {
		status := d.proc.Wait()
		d.exit = exitText(status)
		close(d.gone)
		exit <- status
		// Output that a grandchild still writes is not the driver's.
		_ = stdout.SetReadDeadline(time.Now().Add(time.Second))
	}()
	var cut error
	for {
		line, err := lines.ReadSlice('\n')
		if err == nil {
			d.line(line[:len(line)-1])
			continue
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			d.problem(fmt.Errorf("a line of more than %d bytes", maxLine))
			if err = skipLine(lines); err == nil {
				continue
			}
		}
		if len(line) > 0 {
			cut = fmt.Errorf("its last line is cut off: %.80q", line)
		}
		break
	}
	status := <-exit
	<-d.watched
	stdout.Close()
	d.mu.Lock()
	if d.bound != nil {
		d.bound.Stop()
	}
	d.mu.Unlock()
	d.stdin.Close()
	how := exitText(status)
	if _, within := d.proc.Ahead(); within > 0 && d.tr.bye == nil && status == nil {
		how = history.LostSight + "its output ended before its last line" // a broken stream looks like an end
	}
	lost := strings.HasPrefix(how, history.LostSight) && !d.closed.Load()
	if cut != nil && !lost {
		d.problem(cut)
	}
	switch {
	case lost && d.tr.bye != nil: // all that it wrote is there
	case lost && d.tr.greeted:
		d.lost(fmt.Errorf("it ended without bye (%s)%s", how, d.tail.words()))
	case d.tr.bye == nil && d.Shot():
		d.fail(errors.New("it was killed by a fault"))
	case !d.tr.greeted: // it never came to be a client
		d.problem(fmt.Errorf("it ended before hello (%s)", how))
	case d.tr.bye == nil && how == fmt.Sprintf("exit status %d", contract.ExitOwn):
		d.lost(fmt.Errorf("it ended by a failure of its own (%s)%s", how, d.tail.words()))
	case d.tr.bye == nil && history.EndedByOthers(how) && !d.closed.Load():
		d.lost(fmt.Errorf("it ended without bye (%s)%s", how, d.tail.words()))
	case d.tr.bye == nil:
		d.problem(fmt.Errorf("it ended without bye (%s)", how))
	case status != nil:
		d.problem(fmt.Errorf("it ended with %s after bye", how))
	}
	d.tr.end(d.Err() == nil)
	d.say("ended: " + how)
}

// line records one line.
func (d *Driver) line(data []byte) {
	var l contract.Line
	now := history.MonotonicNow()
	d.lines.Add(1)
	if err := contract.ParseLine(data, &l); err != nil {
		d.tr.lines++
		d.problem(fmt.Errorf("line %d is not JSON of the contract: %.80q", d.tr.lines, data))
		return
	}
	if err := d.tr.line(&l, now); err != nil {
		d.problem(fmt.Errorf("line %d: %w: %.200s", d.tr.lines, err, data))
		return
	}
	switch l.Edge {
	case "hello":
		d.mu.Lock()
		d.hello = l
		d.mu.Unlock()
		close(d.greeted)
	case "log":
		fmt.Fprintf(d.tail, "driver: %s\n", l.Text)
	case "bye":
		d.mu.Lock()
		told := len(d.ended) == len(d.opts.Spec.Clients)
		d.mu.Unlock()
		if !told {
			d.problem(errors.New("it said bye without being told to end"))
		}
		if written := d.tr.lines - 1; l.Lines != written {
			d.problem(fmt.Errorf("it says that it wrote %d lines, and %d arrived", l.Lines, written))
		}
	}
}

// problem records that the driver broke the contract.
func (d *Driver) problem(err error) { d.broke(err, history.OutcomeNone) }

// lost records that the driver ended by no doing of the SDK or of ours.
func (d *Driver) lost(err error) { d.broke(err, history.Fail) }

func (d *Driver) broke(err error, o history.Outcome) {
	err = errors.New(d.tr.scrub.Text("driver broke the contract: " + err.Error())) // it quotes the driver
	d.mu.Lock()
	d.problems++
	record := d.problems <= maxProblems
	d.mu.Unlock()
	if record {
		d.record(history.Event{Kind: history.KindDriver, Outcome: o, Text: err.Error()})
	}
	if o == history.Fail {
		err = &Lost{err}
	}
	d.fail(err)
}

// A Lost is the error of a driver that ended by no doing of its SDK, of a broker, or of ours.
type Lost struct{ error }

// say records what became of the driver.
func (d *Driver) say(text string) {
	d.record(history.Event{Kind: history.KindDriver, Text: text})
}

// record records what concerns the whole driver. The row names its first client, and so
// its SDK.
func (d *Driver) record(e history.Event) {
	e.Process = history.None
	if clients := d.opts.Spec.Clients; len(clients) > 0 {
		e.Process = clients[0].Process
	}
	d.tr.record(e)
}

func (d *Driver) fail(err error) {
	d.mu.Lock()
	first := d.err == nil
	if first {
		d.err = err
		close(d.failed)
	}
	d.mu.Unlock()
	if first && d.opts.OnError != nil {
		d.opts.OnError(err)
	}
}

func skipLine(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
