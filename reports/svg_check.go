package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// timelineElements are those that a timeline has.
var timelineElements = []string{"svg", "style", "title", "g", "rect", "line", "path", "text"}

// checkSVG refuses a picture that a browser would do more with than show it: a
// stored timeline may be a stranger's, and a page of the site links to it.
func checkSVG(picture []byte) error {
	inStyle := false
	for tokens := xml.NewDecoder(bytes.NewReader(picture)); ; {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is no picture: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := checkElement(t); err != nil {
				return err
			}
			inStyle = t.Name.Local == "style"
		case xml.EndElement:
			inStyle = false
		case xml.CharData:
			if inStyle && loads(string(t)) {
				return errors.New("its style loads something, which no timeline's does")
			}
		case xml.Directive:
			return errors.New("it has a directive, which no timeline has")
		case xml.ProcInst:
			if t.Target != "xml" {
				return fmt.Errorf("it has an instruction %.20q, which no timeline has", t.Target)
			}
		}
	}
}

func checkElement(e xml.StartElement) error {
	if !slices.Contains(timelineElements, e.Name.Local) {
		return fmt.Errorf("it has an element %.20q, which no timeline has", e.Name.Local)
	}
	for _, a := range e.Attr {
		name := strings.ToLower(a.Name.Local)
		if strings.HasPrefix(name, "on") || name == "href" || strings.Contains(strings.ToLower(a.Value), "javascript:") || loads(a.Value) {
			return fmt.Errorf("it has an attribute %.20q, which no timeline has", a.Name.Local)
		}
	}
	return nil
}

// loads reports whether a style fetches something.
func loads(style string) bool {
	style = strings.ToLower(style)
	return strings.Contains(style, "url(") || strings.Contains(style, "@import") || strings.Contains(style, "\\")
}
