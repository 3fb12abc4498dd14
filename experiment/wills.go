package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// aside is how long a client with a will stays away after its DISCONNECT. A broker that is
// asked by the next connection of a client before it has read the last words of the one before
// ends that one itself, and is to publish its will.
const aside = 1500 * time.Millisecond

// startWills starts the clients with a will. Each leaves once, by DISCONNECT, and
// comes back: of that will nobody is to hear.
func (s *session) startWills(ctx context.Context, cmd clients.Program) error {
	for i, spec := range s.plan.wills {
		d, err := s.load.drive(ctx, fmt.Sprintf("will-%d-%d", i+1, s.number), cmd, spec)
		if err != nil {
			return err
		}
		s.wills = append(s.wills, d)
	}
	if err := s.awaitWills(ctx, 1); err != nil {
		return err
	}
	if err := s.doWills("disconnect"); err != nil {
		return err
	}
	l := s.load.live
	if !l.wait(ctx, connectBound, l.all(s.plan.groups[history.GroupWill], func(p *liveProcess) bool { return !p.connected })) {
		return fmt.Errorf("clients with a will of %s: not all had disconnected within %s; see logs/ of the run", s.name, connectBound)
	}
	select {
	case <-ctx.Done():
	case <-time.After(aside):
	}
	if err := s.doWills("connect"); err != nil {
		return err
	}
	return s.awaitWills(ctx, 2)
}

// doWills has each client with a will do something.
func (s *session) doWills(do string) error {
	for i, d := range s.wills {
		if err := d.Do(contract.Command{Do: do, Process: s.plan.groups[history.GroupWill][i]}); err != nil {
			return err
		}
	}
	return nil
}

// awaitWills waits until each client with a will has connected so many times.
func (s *session) awaitWills(ctx context.Context, times int) error {
	l := s.load.live
	if l.wait(ctx, connectBound, l.all(s.plan.groups[history.GroupWill], func(p *liveProcess) bool { return p.connected && p.connects >= times })) {
		return nil
	}
	return fmt.Errorf("clients with a will of %s: not all had connected within %s; see logs/ of the run for what the broker answered", s.name, connectBound)
}

// endWills ends the clients with a will that are alive. From then on everybody
// else waits for the wills that are due.
func (s *session) endWills(ctx context.Context) {
	for i, d := range s.wills {
		if !d.Shot() {
			s.end(ctx, d, fmt.Sprintf("client will-%d", i+1))
		}
	}
	l, landings, rows := s.load.live, s.load.landings(), s.load.rec.Tables().Processes
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, d := range s.wills {
		process := s.plan.groups[history.GroupWill][i]
		p := l.process(process)
		if d.Shot() && p.will != history.None { // it could not say that it went
			p.lost = append(p.lost, loss{p.will, s.load.clock.Now()})
		}
		for _, lost := range p.lost {
			if !history.Unsettled(landings, process, rows[process], lost.at) { // else nobody need hear of it
				l.stream(s.plan.wills[i].Clients[0].Will.Stream).acked.add(lost.seq)
			}
		}
	}
	for _, spec := range s.plan.wills {
		s.plan.guaranteed = append(s.plan.guaranteed, spec.Clients[0].Will.Stream)
	}
}

// A loss is that of a connection whose client had not sent DISCONNECT.
type loss struct {
	seq int64 // of its will
	at  time.Duration
}
