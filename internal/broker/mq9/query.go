package mq9

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// maxQuery bounds the answer of a query.
const maxQuery = 100

// query looks at messages without a group and moves no group's position. If more
// messages match than an answer may hold, it returns the last ones.
func (s *service) query(ctx context.Context, address string, m *request) (any, error) {
	var in queryRequest
	if len(m.Data) > 0 {
		if err := read("MSG.QUERY", m.Data, &in); err != nil {
			return nil, err
		}
	}
	of, err := s.mailbox(ctx, address)
	if err != nil {
		return nil, err
	}
	most := maxQuery
	if in.Limit > 0 {
		most = min(in.Limit, maxQuery)
	}
	subject := of.subject("*", "*")
	if in.Key != "" {
		subject = of.subject("*", hex.EncodeToString([]byte(in.Key)))
	}
	found := []message{}
	_, err = s.each(ctx, of, subject, 1, func(m *jetstream.RawStreamMsg) bool {
		if !asked(m, in) {
			return true
		}
		if len(found) == most {
			found = found[1:]
		}
		found = append(found, messageOf(m))
		return true
	})
	return messagesReply{Messages: found}, err
}

// asked reports whether a query is about a message, by what a subject does not say.
func asked(m *jetstream.RawStreamMsg, in queryRequest) bool {
	if m.Time.Unix() < in.Since {
		return false
	}
	if in.Key != "" || len(in.Tags) == 0 {
		return true
	}
	for tag := range strings.SplitSeq(m.Header.Get(headerTags), ",") {
		if slices.Contains(in.Tags, strings.TrimSpace(tag)) {
			return true
		}
	}
	return false
}

// cutID cuts a message's id from the end of a subject.
func cutID(rest string) (address string, id uint64, err error) {
	at := strings.LastIndexByte(rest, '.')
	if at < 0 {
		return "", 0, fmt.Errorf("unrecognized mq9 subject: %s%s", subjectDelete, rest)
	}
	id, err = strconv.ParseUint(rest[at+1:], 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("invalid msg_id: %s", rest[at+1:])
	}
	return rest[:at], id, nil
}
