package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// timelineElements are those that a timeline has.
var timelineElements = []string{"svg", "style", "title", "g", "rect", "line", "path", "text"}

// CheckSVG refuses a picture that a browser would do more with than show it: a
// stored timeline may be a stranger's, and a page of the site links to it.
func CheckSVG(picture []byte) error {
	style, inStyle := "", false // a comment may stand in the middle of a word
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
			if inStyle {
				return errors.New("its style has an element, which no timeline's has")
			}
			if err := checkElement(t); err != nil {
				return err
			}
			style, inStyle = "", t.Name.Local == "style"
		case xml.EndElement:
			if inStyle && loads(style) {
				return errors.New("its style loads something, which no timeline's does")
			}
			inStyle = false
		case xml.CharData:
			if inStyle {
				style += string(t)
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

// loads reports whether a style fetches something: url(), src(), image() and
// image-set() of CSS do, and @import. An escape could hide any of them.
func loads(style string) bool {
	return loading.MatchString(style)
}

var loading = regexp.MustCompile(`(?i)(?:url|src|image|image-set|cross-fade|element)\s*\(|@import|@font-face|\\`)
