package mq9

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nuid"
)

const (
	dayS       = 86400
	maxTTLS    = 100 * 365 * dayS // more is for ever
	maxAddress = 128
)

var addressForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9.]*[a-z0-9])?$`)

// A mailbox is one that somebody made. Another one of the same address, made
// after it is over, is another mailbox: nothing of the first is in it.
type mailbox struct {
	address    string
	generation uint64    // tells it from others of its address
	expires    time.Time // zero: never
}

func (b mailbox) over() bool { return passed(b.expires) }

// passed reports whether a time is over; the zero time never is.
func passed(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// token is an address as one token of a subject.
func token(address string) string { return strings.ReplaceAll(address, ".", "_") }

func (b mailbox) token() string {
	return token(b.address) + "." + strconv.FormatUint(b.generation, 10)
}

// keyless is in a subject where a message has no key, which is hexadecimal there.
const keyless = "-"

// subject of a mailbox's messages of one priority and one key, or all with "*".
func (b mailbox) subject(priority, key string) string {
	return "mq9.m." + b.token() + "." + priority + "." + key
}

func (b mailbox) offsetKey(group, priority string) string {
	return "offset." + b.token() + "." + hex.EncodeToString([]byte(group)) + "." + priority
}

func mailboxKey(address string) string { return "mailbox." + token(address) }

// mailboxOf is what a key of a mailbox has, the zero mailbox where it has nothing.
func mailboxOf(e entry) (mailbox, error) {
	if e.revision == 0 {
		return mailbox{}, nil
	}
	var made createRequest
	if err := json.Unmarshal(e.value, &made); err != nil {
		return mailbox{}, err
	}
	b := mailbox{address: made.Name, generation: e.revision}
	if ttl := *made.TTL; ttl > 0 && ttl <= maxTTLS {
		b.expires = e.made.Add(time.Duration(ttl) * time.Second)
	}
	return b, nil
}

// create makes a mailbox. One that is there is an error, whoever asks.
func (s *service) create(ctx context.Context, data []byte) (any, error) {
	var in createRequest
	if len(data) > 0 {
		if err := read("MAILBOX.CREATE", data, &in); err != nil {
			return nil, err
		}
	}
	if in.Name == "" {
		in.Name = strings.ToLower(nuid.Next())
	}
	if in.TTL == nil {
		day := uint64(dayS)
		in.TTL = &day
	}
	if len(in.Name) > maxAddress || !addressForm.MatchString(in.Name) || strings.Contains(in.Name, "..") {
		return nil, errors.New("name may only contain lowercase letters, digits, and dots, must start and end with a lowercase letter or digit, and has at most 128 of them")
	}
	for {
		err := s.claim(ctx, in)
		switch {
		case errors.Is(err, errRaced), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			continue
		case err != nil:
			return nil, err
		}
		return createReply{Address: in.Name}, nil
	}
}

// claimBound is how long one attempt to make a mailbox may take. If several requests
// write one key at the same time, a store with replicas may leave one of them without
// an answer. The next attempt then finds the key there.
const claimBound = time.Second

func (s *service) claim(ctx context.Context, in createRequest) error {
	ctx, cancel := context.WithTimeout(ctx, claimBound)
	defer cancel()
	before, err := s.store.get(ctx, mailboxKey(in.Name))
	if err != nil {
		return err
	}
	there, err := mailboxOf(before)
	if err != nil {
		return fmt.Errorf("read mailbox %s: %w", in.Name, err)
	}
	if there.generation != 0 && !there.over() {
		return fmt.Errorf("mailbox %s already exists", in.Name)
	}
	value, err := json.Marshal(in)
	if err != nil {
		return err
	}
	var over time.Time
	if *in.TTL > 0 && *in.TTL <= maxTTLS {
		over = time.Now().Add(time.Duration(*in.TTL) * time.Second)
	}
	return s.store.put(ctx, mailboxKey(in.Name), value, before.revision, life(over))
}

var errNoMailbox = errors.New("does not exist")

// mailbox is the one that has an address now. It is an error where nobody made
// one, or its time is over.
func (s *service) mailbox(ctx context.Context, address string) (mailbox, error) {
	none := fmt.Errorf("mailbox %s %w", address, errNoMailbox)
	s.mu.Lock()
	known, ok := s.known[address]
	s.mu.Unlock()
	if ok && !known.over() {
		return known, nil
	}
	if !addressForm.MatchString(address) {
		return mailbox{}, none
	}
	e, err := s.store.get(ctx, mailboxKey(address))
	if err != nil {
		return mailbox{}, fmt.Errorf("look for mailbox %s: %w", address, err)
	}
	b, err := mailboxOf(e)
	switch {
	case err != nil:
		return mailbox{}, fmt.Errorf("read mailbox %s: %w", address, err)
	case b.address != address || b.over():
		return mailbox{}, none
	}
	s.mu.Lock()
	s.known[address] = b
	s.mu.Unlock()
	return b, nil
}
