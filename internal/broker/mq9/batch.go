package mq9

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A batch is the result of one fetch of a group. Acknowledging its last message
// confirms the whole batch (faq.md, "Which msg_id should I pass to ACK?"). The id of
// that message alone does not tell which messages of higher priorities are confirmed,
// as those may have higher ids.
type batch struct {
	Last uint64            `json:"last"`
	To   map[string]uint64 `json:"to"` // the last id of each priority
}

// maxBatches are kept of a group: members of one fetch at the same time.
const maxBatches = 16

func (b mailbox) batchKey(group string) string {
	return "batch." + b.token() + "." + hex.EncodeToString([]byte(group))
}

// returned keeps what a fetch of a group returns, before it is returned. One of the
// highest priority alone is confirmed by its last message as it is.
func (s *service) returned(ctx context.Context, of mailbox, group string, found []message) error {
	if group == "" || len(found) == 0 || found[len(found)-1].Priority == priorities()[0] {
		return nil
	}
	b := batch{Last: found[len(found)-1].ID, To: map[string]uint64{}}
	for _, m := range found {
		b.To[m.Priority] = m.ID
	}
	same := func(other batch) bool { return other.Last == b.Last && maps.Equal(other.To, b.To) }
	return s.store.batches(ctx, of, group, func(all []batch) ([]batch, bool) {
		if slices.ContainsFunc(all, same) {
			return all, false
		}
		all = append(all, b)
		return all[max(0, len(all)-maxBatches):], true
	})
}

// confirmed returns how far an acknowledgement of message id confirms each priority.
// Several batches may end with that message, and any of them may be the acknowledged
// one. The lowest id of each priority counts, and messages beyond it are returned
// again.
func (s *service) confirmed(ctx context.Context, of mailbox, group string, id uint64) (map[string]uint64, error) {
	var to map[string]uint64
	err := s.store.batches(ctx, of, group, func(all []batch) ([]batch, bool) {
		to = nil
		for _, b := range all {
			if b.Last != id {
				continue
			}
			if to == nil {
				to = maps.Clone(b.To)
			}
			for p := range to {
				to[p] = min(to[p], b.To[p])
			}
		}
		return all, false
	})
	return to, err
}

// batches changes those of a group.
func (s *store) batches(ctx context.Context, of mailbox, group string, change func([]batch) (to []batch, changed bool)) error {
	for {
		e, err := s.get(ctx, of.batchKey(group))
		if err != nil {
			return err
		}
		var all []batch
		if e.revision != 0 {
			if err := json.Unmarshal(e.value, &all); err != nil {
				return fmt.Errorf("read the batches of group %s: %w", group, err)
			}
		}
		all, changed := change(all)
		if !changed {
			return nil
		}
		value, err := json.Marshal(all)
		if err != nil {
			return err
		}
		err = s.put(ctx, of.batchKey(group), value, e.revision, life(of.expires))
		if !errors.Is(err, errRaced) || ctx.Err() != nil {
			return err
		}
	}
}
