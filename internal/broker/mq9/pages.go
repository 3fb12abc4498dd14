package mq9

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// tenant is whose everything is.
const tenant = "default"

const defaultRows = 20

// A row of a list, https://github.com/robustmq/robustmq docs/en/Api/MQ9.md.
type row struct {
	Tenant  string  `json:"tenant"`
	Address string  `json:"mail_address,omitempty"`
	Desc    *string `json:"desc,omitempty"`
	TTL     *uint64 `json:"ttl,omitempty"` // seconds; 0: for ever
	Name    string  `json:"name,omitempty"`
	Info    string  `json:"agent_info,omitempty"`
	Created int64   `json:"create_time"` // milliseconds
}

func (r row) key() string { return r.Address + r.Name }

type rows struct {
	Rows  []row `json:"data"`
	Total int   `json:"total_count"`
}

type pageReply struct {
	Code  int     `json:"code"`
	Data  *rows   `json:"data"`
	Error *string `json:"error"`
}

// pages list what there is, over HTTP: mailboxes and agents.
func (s *service) pages() http.Handler {
	mux := http.NewServeMux()
	for _, p := range []struct {
		path, match, keys string
		read              func(*jetstream.RawStreamMsg) (row, bool, error)
	}{
		{"/api/mq9/mail/list", "mail_address", "mailbox.*", mailboxRow},
		{"/api/mq9/agent/list", "name", "agent.*", agentRow},
	} {
		mux.HandleFunc("GET "+p.path, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), storeBound)
			defer cancel()
			q := r.URL.Query()
			list, err := s.list(ctx, p.keys, p.read)
			var reply pageReply
			if err != nil {
				text := err.Error()
				reply.Code, reply.Error = 100, &text
			} else {
				list = slices.DeleteFunc(list, func(r row) bool {
					return !strings.Contains(r.key(), q.Get(p.match)) || q.Get("tenant") != "" && q.Get("tenant") != tenant
				})
				slices.SortFunc(list, func(a, b row) int { return strings.Compare(a.key(), b.key()) })
				if q.Get("sort_by") == "desc" {
					slices.Reverse(list)
				}
				skip, most := window(q.Get("limit"), q.Get("page"), len(list))
				reply.Data = &rows{Rows: list[skip : skip+most], Total: len(list)}
			}
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(reply) // a client that is gone needs none
		})
	}
	return mux
}

// window is which of so many rows a page shows.
func window(limit, page string, rows int) (skip, most int) {
	most = defaultRows
	if n, err := strconv.Atoi(limit); err == nil {
		most = n
	}
	most = min(max(most, 0), rows)
	if n, err := strconv.Atoi(page); err == nil {
		skip = min(min(max(n, 1)-1, rows)*most, rows)
	}
	return skip, min(most, rows-skip)
}

func (s *service) list(ctx context.Context, keys string, read func(*jetstream.RawStreamMsg) (row, bool, error)) ([]row, error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	all := []row{}
	for from := uint64(1); ; {
		m, err := next(ctx, s.store.state, stateSubject(keys), from)
		if m == nil || err != nil {
			return all, err
		}
		from = m.Sequence + 1
		r, there, err := read(m)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", m.Subject, err)
		}
		if there {
			r.Tenant, r.Created = tenant, m.Time.UnixMilli()
			all = append(all, r)
		}
	}
}

func mailboxRow(m *jetstream.RawStreamMsg) (r row, there bool, err error) {
	b, err := mailboxOf(entry{m.Data, m.Sequence, m.Time})
	if err != nil || b.over() {
		return row{}, false, err
	}
	var made createRequest
	err = json.Unmarshal(m.Data, &made)
	return row{Address: b.address, Desc: &made.Desc, TTL: made.TTL}, true, err
}

func agentRow(m *jetstream.RawStreamMsg) (row, bool, error) {
	var a agent
	err := json.Unmarshal(m.Data, &a)
	return row{Name: a.Name, Info: a.Info}, true, err
}
