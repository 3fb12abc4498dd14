package keeper

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// announcer notes every process that an experiment starts, where no namespace
// ends it with the keeper. The note is a file, so that it outlives the keeper
// and its guard.
func announcer(path string) func(pid int) error {
	var mu sync.Mutex
	return func(pid int) error {
		child, err := identify(pid)
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("note process %d: %w", pid, err)
		}
		line, err := json.Marshal(child)
		if err != nil {
			return fmt.Errorf("note process %d: %w", pid, err)
		}
		mu.Lock()
		defer mu.Unlock()
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("note process %d: %w", pid, err)
		}
		_, err = file.Write(append(line, '\n'))
		return errors.Join(err, file.Close())
	}
}

// killAnnounced ends every process that was announced and is still the same,
// and forgets them.
func killAnnounced(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end children: %w", err)
	}
	var errs []error
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var child Process
		if json.Unmarshal(lines.Bytes(), &child) == nil { // the last line may be cut
			errs = append(errs, child.kill())
		}
	}
	file.Close()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.Remove(path)
}
