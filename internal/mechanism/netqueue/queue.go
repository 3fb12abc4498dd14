package netqueue

// Options say which queue is treated, and how.
type Options struct {
	Queue     uint16 // number of the NFQUEUE, in the calling process's network namespace
	Treatment Treatment
	ProbePort uint16 // packets from or to it are probes; 0: there are none
}

// longest is how many packets the kernel keeps for a queue. More are dropped,
// and counted as overflown.
const longest = 1 << 16
