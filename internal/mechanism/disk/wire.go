package disk

import "encoding/json"

// Client and process speak lines of JSON through the process's standard input
// and output: a request each, an answer each, in any order. The first answer,
// number 0, comes unasked when the layer is mounted.
type request struct {
	N    uint64          `json:"n"`
	Do   string          `json:"do"`
	Args json.RawMessage `json:"args,omitempty"`
}

type answer struct {
	N      uint64          `json:"n"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Requests of a client.
const (
	doFaults  = "faults"
	doStats   = "stats"
	doReport  = "report"
	doCut     = "cut"
	doCrash   = "crash"
	doRestore = "restore"
	doSync    = "sync"
	doWait    = "wait"
	doResume  = "resume"
	doFiles   = "files"
	doRot     = "rot"
	doErase   = "erase"
)
