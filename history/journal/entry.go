package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/internal/plain"
)

// An Entry is one line of a journal.
type Entry struct {
	N      int             `json:"n"`       // from 0
	Time   time.Time       `json:"t"`       // wall clock
	MonoNS int64           `json:"mono_ns"` // the machine's monotonic clock
	Kind   string          `json:"kind"`
	Data   json.RawMessage `json:"data"`
	Prev   string          `json:"prev"` // SHA-256 of the line before; "" in entry 0
	Hash   string          `json:"hash"` // SHA-256 of this line without hash
}

// hashMember is where a line's hash begins.
const hashMember = `,"hash":"`

// tail is the length of the hash and the end of a line.
const tail = len(hashMember) + 2*sha256.Size + len("\"}\n")

// sum is the SHA-256 of data, in hex.
func sum(data []byte) string {
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}

// encode is the entry's line, with its hash and its newline.
func encode(e Entry) ([]byte, error) {
	e.Hash = ""
	line, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte(hashMember+`"}`))
	hash := sum(append(line, '}'))
	return append(line, hashMember+hash+"\"}\n"...), nil
}

// decode is the entry of a line, newline included, whose own hash is right.
func decode(line []byte) (Entry, error) {
	if len(line) < tail {
		return Entry{}, errors.New("it is too short")
	}
	body, hash := line[:len(line)-tail], string(line[len(line)-tail:])
	if hash != hashMember+sum(append(bytes.Clone(body), '}'))+"\"}\n" {
		return Entry{}, errors.New("its hash does not fit")
	}
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return Entry{}, fmt.Errorf("it is not JSON: %w", err)
	}
	e.Kind, e.Data = plain.Line(e.Kind), plain.JSON(e.Data)
	return e, nil
}
