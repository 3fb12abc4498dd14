package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

type listedTool struct {
	Name, Title, Description string
	Input                    json.RawMessage `json:"inputSchema"`
	Annotations              struct{ ReadOnlyHint bool }
}

func listedTools(t *testing.T, answer string) []listedTool {
	t.Helper()
	var listed struct{ Result struct{ Tools []listedTool } }
	if err := json.Unmarshal([]byte(answer), &listed); err != nil || len(listed.Result.Tools) == 0 {
		t.Fatalf("tools/list is answered %.300s: %v", answer, err)
	}
	return listed.Result.Tools
}

// toolsIn is the list of an answer as text.
func toolsIn(t *testing.T, answer string) string {
	t.Helper()
	var listed struct {
		Result struct{ Tools json.RawMessage }
	}
	if err := json.Unmarshal([]byte(answer), &listed); err != nil {
		t.Fatal(err)
	}
	return string(listed.Result.Tools)
}

// eachFile hands over all regular files below a directory.
func eachFile(t *testing.T, dir string, see func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		see(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// markState makes a directory one of ours.
func markState(t *testing.T, dir string) {
	t.Helper()
	if err := keeper.OpenState(dir); err != nil {
		t.Fatal(err)
	}
}
