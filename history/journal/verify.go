package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/robustmq/rmq-mcp/internal/stored"
)

// Read returns the entries of a journal, verified. It may be in writing: a last line
// that is not whole is left out.
func Read(path string) ([]Entry, error) {
	chain, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return chain.entries, nil
}

// Verify checks every link of a journal, and returns its head and its number of
// entries. The error names the first broken entry; n is then the number of sound
// entries before it.
func Verify(path string) (head string, n int, err error) {
	chain, err := readFile(path)
	if err != nil {
		return chain.head, len(chain.entries), err
	}
	if chain.torn > 0 {
		err = fmt.Errorf("verify journal %s: entry %d is broken: it is not whole", path, len(chain.entries))
	}
	return chain.head, len(chain.entries), err
}

func readFile(path string) (chain, error) {
	file, err := stored.Open(path)
	if err != nil {
		return chain{}, fmt.Errorf("read journal: %w; name the directory of a run, rmq-mcp list runs shows them", err)
	}
	defer file.Close()
	c, err := readChain(file)
	if err != nil {
		err = fmt.Errorf("read journal %s: %w", path, err)
	}
	return c, err
}

// A chain is the sound beginning of a journal.
type chain struct {
	entries []Entry
	head    string
	size    int64 // of whole lines
	torn    int64 // bytes of a line that is not whole
}

func readChain(file io.Reader) (chain, error) {
	var c chain
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			c.torn = int64(len(line))
			return c, nil
		}
		if err != nil {
			return c, err
		}
		if err := c.add(line); err != nil {
			return c, fmt.Errorf("entry %d is broken: %w", len(c.entries), err)
		}
	}
}

func (c *chain) add(line []byte) error {
	e, err := decode(line)
	switch {
	case err != nil:
		return err
	case e.N != len(c.entries):
		return fmt.Errorf("it is numbered %d", e.N)
	case e.Prev != c.head:
		return errors.New("it does not follow the one before")
	}
	c.entries = append(c.entries, e)
	c.head = sum(line)
	c.size += int64(len(line))
	return nil
}
