package mq9

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A batch is what one fetch of a group returned, of several priorities: who
// acknowledges its last message confirms all of it (faq.md, "Which msg_id should I pass
// to ACK?"), while a message alone says nothing of higher priorities, which may have
// higher ids.
type batch struct {
	Last uint64            `json:"last"`
	To   map[string]uint64 `json:"to"` // the last id of each priority
}

// maxBatches are kept of a group: members of one fetch at the same time.
const maxBatches = 16

func (b mailbox) batchKey(group string) string {
	return "batch." + b.token() + "." + hex.EncodeToString([]byte(group))
}

// returned keeps what a fetch of a group returns, where its last message does not
// stand for all of it.
func (s *service) returned(ctx context.Context, of mailbox, group string, found []message) error {
	if group == "" || len(found) == 0 || found[0].Priority == found[len(found)-1].Priority {
		return nil
	}
	b := batch{Last: found[len(found)-1].ID, To: map[string]uint64{}}
	for _, m := range found {
		b.To[m.Priority] = m.ID
	}
	return s.store.batches(ctx, of, group, func(all []batch) ([]batch, bool) {
		all = append(all, b)
		return all[max(0, len(all)-maxBatches):], true
	})
}

// confirmed takes out the oldest batch that ends with a message, and returns how far it
// goes in each priority; nil where there is none.
func (s *service) confirmed(ctx context.Context, of mailbox, group string, id uint64) (to map[string]uint64, err error) {
	err = s.store.batches(ctx, of, group, func(all []batch) ([]batch, bool) {
		to = nil
		i := slices.IndexFunc(all, func(b batch) bool { return b.Last == id })
		if i < 0 {
			return all, false
		}
		to = all[i].To
		return slices.Delete(all, i, i+1), true
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
