package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"

	"github.com/mark3labs/mcp-go/mcp"
)

// A message is one of JSON-RPC 2.0, its params as they came. Other members are read as mcp-go
// reads them.
type message struct {
	Version any             `json:"jsonrpc"`
	ID      any             `json:"id"`
	Method  any             `json:"method"`
	Result  any             `json:"result"`
	Error   any             `json:"error"`
	Params  json.RawMessage `json:"params"`
}

// Codes of errors in JSON-RPC 2.0, section 5.1.
const (
	codeParse   = mcp.PARSE_ERROR
	codeInvalid = mcp.INVALID_REQUEST
)

// mostExact is the largest integer below which a float64 has all of them.
const mostExact = 1 << 53

// parseMessage reads a message. Refused is the answer to one that is none, nil for
// one that is.
func parseMessage(text []byte) (m message, refused []byte) {
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(text, &m); {
	case errors.As(err, &syntax):
		return m, refuse(text, codeParse, "the message is not JSON, or nested too deep")
	case err != nil:
		return m, refuse(text, codeInvalid, "the message is not an object of JSON-RPC 2.0; send one message at a time, no batch")
	case m.Version != mcp.JSONRPC_VERSION:
		return m, refuse(text, codeInvalid, `the JSON-RPC version is not "2.0"`)
	case !isID(m.ID):
		return m, refuse(text, codeInvalid, "the id is neither a string nor an integer below 2^53")
	}
	switch _, named := m.Method.(string); {
	case !named && m.Method != nil:
		return m, refuse(text, codeInvalid, "the method is not a string")
	case !named && m.Result == nil && m.Error == nil:
		return m, refuse(text, codeInvalid, "the message has neither a method nor a result nor an error")
	}
	return m, nil
}

// isID takes an id of the protocol, and nil: a notification has none.
func isID(id any) bool {
	switch id := id.(type) {
	case nil, string:
		return true
	case float64:
		return id == math.Trunc(id) && math.Abs(id) < mostExact
	}
	return false
}

// asks reports whether a message is answered.
func (m message) asks() bool { return m.ID != nil && m.Result == nil }

// cancelled is the id of the request that a message cancels; nil for any other message.
func (m message) cancelled() any {
	if m.Method != "notifications/cancelled" {
		return nil
	}
	var params struct{ RequestID any }
	if json.Unmarshal(m.Params, &params) != nil || !isID(params.RequestID) {
		return nil
	}
	return params.RequestID
}

// key is the id, however it was written: 1.0 is 1.
func (m message) key() string {
	key, _ := json.Marshal(m.ID) // a string or a number always marshals
	return string(key)
}

// refuse is the answer to a message of which this is the beginning.
func refuse(beginning []byte, code int, why string) []byte {
	answer, _ := json.Marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": idIn(beginning), // it always marshals
		"error": map[string]any{"code": code, "message": why + ". Nothing was changed"}})
	return answer
}

// idIn is the id that a message has in its beginning; nil where it is not there.
func idIn(beginning []byte) any {
	d := json.NewDecoder(bytes.NewReader(beginning))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		if key == "id" {
			if id, err := d.Token(); err == nil && isID(id) {
				return id
			}
			return nil
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return nil
		}
	}
}
