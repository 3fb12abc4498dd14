package hosts

import (
	"bytes"

	"github.com/tailscale/hujson"
)

func (j jsonText) drop(text []byte, path []string) ([]byte, error) {
	for n := len(path); n > 0; n-- {
		value, found, err := jsonFind(text, path[:n])
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if n < len(path) && !jsonEmpty(text, value) {
			break
		}
		if text, err = jsonCut(text, path[:n]); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// jsonEmpty says whether there is nothing in an object, not even a comment.
func jsonEmpty(text []byte, value hujson.Value) bool {
	object, ok := value.Value.(*hujson.Object)
	return ok && len(object.Members) == 0 && len(bytes.Trim(text[value.StartOffset+1:value.EndOffset-1], blanks)) == 0
}

// jsonCut takes one member out of its object: what jsonAdd put in, and one
// comma. Comments around it stay.
func jsonCut(text []byte, path []string) ([]byte, error) {
	parent, _, err := jsonFind(text, path[:len(path)-1])
	if err != nil {
		return nil, err
	}
	members := parent.Value.(*hujson.Object).Members
	i := 0
	for members[i].Name.Value.(hujson.Literal).String() != path[len(path)-1] {
		i++
	}
	from, to, last := members[i].Name.StartOffset, members[i].Value.EndOffset, i == len(members)-1
	if after := members[i].Value.AfterExtra; !last || after != nil {
		comma := to + len(after)
		if len(bytes.Trim(after, blanks)) > 0 {
			text = splice(text, comma, comma+1, "") // a comment stands before the comma, and stays
		} else {
			to = comma + 1
		}
	}
	before := len(bytes.TrimRight(text[:from], blanks))
	rest := text[to:]
	switch blank := len(rest) - len(bytes.TrimLeft(rest, blanks)); {
	case bytes.IndexByte(rest[:blank], '\n') >= 0 || last:
		from = before // with the line that it began, or what came before the bracket
	default:
		to += blank // another member goes on in its place
	}
	begin := members[i].Name.StartOffset - len(members[i].Name.BeforeExtra) // behind the bracket, or the comma
	if begin < before && lineComment(text[begin:before]) && bytes.IndexByte(text[to:to+min(len(text)-to, 2)], '\n') < 0 {
		from = lineEnd(text, before) // which must not swallow what follows
	}
	text = splice(text, from, to, "")
	if last && i > 0 && members[i].Value.AfterExtra == nil {
		comma := members[i-1].Value.EndOffset + len(members[i-1].Value.AfterExtra)
		text = splice(text, comma, comma+1, "")
	}
	if len(members) == 1 {
		return jsonClose(text, path[:len(path)-1])
	}
	return text, nil
}

// jsonClose brings the brackets of an object together that has nothing left.
func jsonClose(text []byte, path []string) ([]byte, error) {
	value, _, err := jsonFind(text, path)
	if err != nil || !jsonEmpty(text, value) {
		return text, err
	}
	return splice(text, value.StartOffset, value.EndOffset, "{}"), nil
}

// lineComment says whether blanks and comments end inside of a comment that the end of
// its line ends.
func lineComment(extra []byte) bool {
	for {
		extra = bytes.TrimLeft(extra, blanks)
		end := []byte("*/")
		switch {
		case len(extra) == 0:
			return false
		case bytes.HasPrefix(extra, []byte("//")):
			end = []byte("\n")
		}
		_, rest, ended := bytes.Cut(extra[min(len(extra), 2):], end)
		if !ended {
			return end[0] == '\n'
		}
		extra = rest
	}
}
