package mqttpacket

import (
	"bufio"
	"bytes"
	"errors"
	"testing"
)

// A message may be larger than what is read here; nothing else may.
func TestTooLarge(t *testing.T) {
	length := []byte{0xff, 0xff, 0xff, 0x7f} // 256 MiB
	for _, test := range []struct {
		head byte
		want error
	}{{0x31, ErrTooLarge}, {0x90, ErrMalformed}} {
		if _, err := Read(bufio.NewReader(bytes.NewReader(append([]byte{test.head}, length...))), v5); !errors.Is(err, test.want) {
			t.Errorf("a packet that begins with %#x: %v, want %v", test.head, err, test.want)
		}
	}
}

// A DISCONNECT of one byte is its code, without properties.
func TestShortDisconnect(t *testing.T) {
	pk, err := Read(bufio.NewReader(bytes.NewReader([]byte{0xe0, 1, 0x8e})), v5)
	if err != nil || pk.ReasonCode != 0x8e {
		t.Errorf("%v, error %v", pk, err)
	}
}
