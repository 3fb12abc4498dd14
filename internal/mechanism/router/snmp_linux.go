package router

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
)

// ChecksumErrors is how many TCP segments and UDP datagrams a host threw away
// because their checksum was wrong, since it is there: Linux's InCsumErrors.
func (r *Router) ChecksumErrors(host string) (n uint64, err error) {
	h, err := r.host(host)
	if err != nil {
		return 0, err
	}
	err = netns.In(h.NetNS(), func() (err error) {
		n, err = checksumErrors()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("wrong checksums at %s: %w", host, err)
	}
	return n, nil
}

func checksumErrors() (uint64, error) {
	tcp, err1 := snmp("Tcp:", "InCsumErrors")
	udp, err2 := snmp("Udp:", "InCsumErrors")
	return tcp + udp, errors.Join(err1, err2)
}

// snmp reads a counter of the calling thread's namespace from the line of names
// and that of values that begin with a protocol.
func snmp(protocol, name string) (uint64, error) {
	const path = "/proc/thread-self/net/snmp"
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var names []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] != protocol {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		if i := slices.Index(names, name); i >= 0 && i < len(fields) {
			return strconv.ParseUint(fields[i], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s %s", path, protocol, name)
}
