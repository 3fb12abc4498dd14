package stored

import (
	"bufio"
	"errors"
	"io"
)

// Lines reads a file of any size line by line. It passes on so many bytes of each line at
// most, and passes over the rest of it. Errors are those of [Open] and of reading.
func Lines(path string, most int, take func(line string)) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return LinesOf(f, most, take)
}

// LinesOf reads lines as [Lines] does.
func LinesOf(r io.Reader, most int, take func(line string)) error {
	for lines := bufio.NewReaderSize(r, most); ; {
		line, cut, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(string(line))
		for cut && err == nil {
			_, cut, err = lines.ReadLine()
		}
	}
}
