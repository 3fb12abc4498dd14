package contract

import (
	"encoding/json"
	"strconv"
)

// AppendJSON appends the line as one JSON object, without a newline. It is
// written by hand because a driver does it several times for each message.
func (l *Line) AppendJSON(b []byte) []byte {
	b = append(b, `{"e":"`...)
	b = append(b, l.Edge...)
	b = append(b, `","t":`...)
	b = strconv.AppendInt(b, l.TimeNS, 10)
	b = append(b, `,"p":`...)
	b = strconv.AppendInt(b, int64(l.Process), 10)
	b = appendText(b, "k", l.Kind)
	b = appendInt(b, "c", l.Call)
	b = appendText(b, "o", l.Outcome)
	b = appendInt(b, "r", int64(l.Reason))
	if l.Stream != nil {
		b = strconv.AppendInt(append(b, `,"s":`...), int64(*l.Stream), 10)
	}
	if l.Seq != nil {
		b = strconv.AppendInt(append(b, `,"n":`...), *l.Seq, 10)
	}
	b = appendBool(b, "end", l.End)
	b = appendInt(b, "q", int64(l.QoS))
	if l.ID != nil {
		b = strconv.AppendInt(append(b, `,"i":`...), *l.ID, 10)
	}
	b = appendText(b, "a", l.Endpoint)
	b = appendBool(b, "sp", l.SessionPresent)
	b = appendBool(b, "dup", l.Dup)
	b = appendBool(b, "ret", l.Retain)
	b = appendText(b, "h", l.Header)
	b = appendText(b, "crc", l.CRC)
	b = appendInt(b, "len", int64(l.Length))
	b = appendText(b, "x", l.Text)
	b = appendInt(b, "contract", int64(l.Contract))
	b = appendText(b, "sdk", l.SDK)
	b = appendText(b, "version", l.Version)
	b = appendText(b, "clock", l.Clock)
	if len(l.Cannot) > 0 {
		list, _ := json.Marshal(l.Cannot) // strings always marshal
		b = append(append(b, `,"cannot":`...), list...)
	}
	b = appendBool(b, "dedupes", l.Dedupes)
	b = appendInt(b, "lines", l.Lines)
	return append(b, '}')
}

func appendInt(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(appendKey(b, key), n, 10)
}

func appendBool(b []byte, key string, v bool) []byte {
	if !v {
		return b
	}
	return append(appendKey(b, key), "true"...)
}

func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	b = appendKey(b, key)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // strings always marshal
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func appendKey(b []byte, key string) []byte {
	return append(append(append(b, ',', '"'), key...), '"', ':')
}

// ParseLine reads one line of a driver. Keys it does not know are ignored.
// The usual line, flat and without escapes, is read without reflection.
func ParseLine(data []byte, l *Line) error {
	*l = Line{}
	s := scanner{b: data}
	if s.object(l) {
		return nil
	}
	*l = Line{}
	return json.Unmarshal(data, l)
}

// A scanner reads the usual line. It leaves anything unexpected to encoding/json,
// which also says what is wrong.
type scanner struct {
	b  []byte
	at int
}

func (s *scanner) object(l *Line) bool {
	s.space()
	if !s.byte('{') {
		return false
	}
	for {
		s.space()
		key, ok := s.text()
		if !ok {
			return false
		}
		s.space()
		if !s.byte(':') {
			return false
		}
		s.space()
		if !s.value(l, key) {
			return false
		}
		s.space()
		if s.byte(',') {
			continue
		}
		if !s.byte('}') {
			return false
		}
		s.space()
		return s.at == len(s.b)
	}
}

func (s *scanner) value(l *Line, key []byte) bool {
	switch string(key) {
	case "e":
		return s.string(&l.Edge)
	case "t":
		return s.int(&l.TimeNS)
	case "k":
		return s.string(&l.Kind)
	case "p":
		return narrow(s, &l.Process)
	case "c":
		return s.int(&l.Call)
	case "o":
		return s.string(&l.Outcome)
	case "r":
		return narrow(s, &l.Reason)
	case "s":
		l.Stream = new(int32)
		return narrow(s, l.Stream)
	case "n":
		l.Seq = new(int64)
		return s.int(l.Seq)
	case "end":
		return s.bool(&l.End)
	case "q":
		return narrow(s, &l.QoS)
	case "i":
		l.ID = new(int64)
		return s.int(l.ID)
	case "a":
		return s.string(&l.Endpoint)
	case "sp":
		return s.bool(&l.SessionPresent)
	case "dup":
		return s.bool(&l.Dup)
	case "ret":
		return s.bool(&l.Retain)
	case "h":
		return s.string(&l.Header)
	case "crc":
		return s.string(&l.CRC)
	case "len":
		return narrow(s, &l.Length)
	case "x":
		return s.string(&l.Text)
	}
	return false
}

func (s *scanner) space() {
	for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\t' || s.b[s.at] == '\r') {
		s.at++
	}
}

func (s *scanner) byte(c byte) bool {
	if s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

// text reads a string of printable ASCII without escapes.
func (s *scanner) text() ([]byte, bool) {
	if !s.byte('"') {
		return nil, false
	}
	start := s.at
	for ; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; {
		case c == '"':
			s.at++
			return s.b[start : s.at-1], true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

func (s *scanner) string(v *string) bool {
	text, ok := s.text()
	*v = word(text)
	return ok
}

// word is the string of b; those that every line has are not allocated anew.
func word(b []byte) string {
	switch string(b) {
	case "call":
		return "call"
	case "return":
		return "return"
	case "point":
		return "point"
	case "publish":
		return "publish"
	case "deliver":
		return "deliver"
	case "ok":
		return "ok"
	}
	return string(b)
}

func (s *scanner) bool(v *bool) bool {
	rest := s.b[s.at:]
	switch {
	case len(rest) >= 4 && string(rest[:4]) == "true":
		*v, s.at = true, s.at+4
	case len(rest) >= 5 && string(rest[:5]) == "false":
		*v, s.at = false, s.at+5
	default:
		return false
	}
	return true
}

// int reads an integer of at most 18 digits; longer ones may overflow.
func (s *scanner) int(v *int64) bool {
	negative := s.byte('-')
	start, n := s.at, int64(0)
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		n = n*10 + int64(s.b[s.at]-'0')
		s.at++
	}
	digits := s.at - start
	if digits == 0 || digits > 18 || digits > 1 && s.b[start] == '0' {
		return false
	}
	if negative {
		n = -n
	}
	*v = n
	return true
}

// narrow reads an integer that must fit its type.
func narrow[T int | int32 | uint8](s *scanner, v *T) bool {
	var n int64
	if !s.int(&n) {
		return false
	}
	*v = T(n)
	return int64(*v) == n
}
