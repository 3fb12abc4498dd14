package mqttpacket

import (
	"bufio"
	"bytes"
	"testing"
)

// A DISCONNECT of one byte is its code, without properties.
func TestShortDisconnect(t *testing.T) {
	pk, err := Read(bufio.NewReader(bytes.NewReader([]byte{0xe0, 1, 0x8e})), v5)
	if err != nil || pk.ReasonCode != 0x8e {
		t.Errorf("%v, error %v", pk, err)
	}
}
