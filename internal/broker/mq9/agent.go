package mq9

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const defaultAgents = 20

func agentKey(name string) string { return "agent." + hex.EncodeToString([]byte(name)) }

// named reads what names an agent: its name, else its mailbox.
func named(what string, data []byte) (agentRequest, error) {
	var in agentRequest
	if err := read(what, data, &in); err != nil {
		return in, err
	}
	if in.Name == "" {
		in.Name = in.Mailbox
	}
	if in.Name == "" {
		return in, errors.New("agent name must not be empty")
	}
	return in, nil
}

// register keeps what an agent says of itself, in place of what it said before.
func (s *service) register(ctx context.Context, data []byte) (any, error) {
	in, err := named("AGENT.REGISTER", data)
	if err != nil {
		return nil, err
	}
	kept := agent{Name: in.Name, Info: string(data)}
	if in.Payload != "" {
		kept.Info = in.Payload
	}
	value, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	for {
		before, err := s.store.get(ctx, agentKey(in.Name))
		if err == nil {
			err = s.store.put(ctx, agentKey(in.Name), value, before.revision, 0)
		}
		if !errors.Is(err, errRaced) || ctx.Err() != nil {
			return errorReply{}, err
		}
	}
}

// unregister forgets an agent.
func (s *service) unregister(ctx context.Context, data []byte) (any, error) {
	e, err := s.agent(ctx, "AGENT.UNREGISTER", data)
	if err != nil {
		return nil, err
	}
	if err := s.store.state.DeleteMsg(ctx, e.revision); err != nil {
		return nil, fmt.Errorf("unregister the agent: %w", err)
	}
	return errorReply{}, nil
}

// report takes what an agent says of its state, which the protocol has no
// request to read.
func (s *service) report(ctx context.Context, data []byte) (any, error) {
	_, err := s.agent(ctx, "AGENT.REPORT", data)
	return errorReply{}, err
}

// agent is the one that a request names.
func (s *service) agent(ctx context.Context, what string, data []byte) (entry, error) {
	in, err := named(what, data)
	if err != nil {
		return entry{}, err
	}
	e, err := s.store.get(ctx, agentKey(in.Name))
	if err == nil && e.revision == 0 {
		err = errors.New("agent not found")
	}
	return e, err
}

// discover finds agents whose registration has one of the words of a text, page
// by page; without a text, all.
func (s *service) discover(ctx context.Context, data []byte) (any, error) {
	var in discoverRequest
	if len(data) > 0 {
		if err := read("AGENT.DISCOVER", data, &in); err != nil {
			return nil, err
		}
	}
	if in.Semantic != "" {
		return nil, errors.New("semantic search is not available; use text")
	}
	words := strings.Fields(strings.ToLower(in.Text))
	found := []agent{}
	for from := uint64(1); ; {
		m, err := next(ctx, s.store.state, stateSubject("agent.*"), from)
		if err != nil {
			return nil, err
		}
		if m == nil {
			break
		}
		from = m.Sequence + 1
		var a agent
		if err := json.Unmarshal(m.Data, &a); err != nil {
			return nil, fmt.Errorf("read an agent: %w", err)
		}
		if hasWord(a, words) {
			found = append(found, a)
		}
	}
	if len(words) > 0 {
		found = page(found, in)
	}
	return discoverReply{Agents: found}, nil
}

// hasWord reports whether an agent has one of the words, or none was asked for.
func hasWord(a agent, words []string) bool {
	text := strings.ToLower(a.Name + " " + a.Info)
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return len(words) == 0
}

func page(all []agent, in discoverRequest) []agent {
	limit := defaultAgents
	if in.Limit != nil {
		limit = min(max(*in.Limit, 0), len(all))
	}
	skip := min(min(max(in.Page, 1)-1, len(all))*limit, len(all))
	return all[skip:min(skip+limit, len(all))]
}
