package driver

import "testing"

// The first packet of a broker says whether the client was let in, if it is a CONNACK.
func TestConnack(t *testing.T) {
	for _, test := range []struct {
		name  string
		read  []byte
		want  Ack
		whole bool
	}{
		{"let in", []byte{0x20, 2, 1, 0}, Ack{Outcome: OK, SessionPresent: true}, true},
		{"let in by MQTT 5", []byte{0x20, 6, 0, 0, 3, 0x21, 0, 9}, Ack{Outcome: OK}, true},
		{"refused", []byte{0x20, 2, 0, 5}, Ack{Outcome: Fail, Reason: 5, Text: "the broker refused"}, true},
		{"not whole", []byte{0x20, 2, 0}, Ack{}, false},
		{"a PUBLISH", []byte{0x32, 93, 0, 27, 'r', 'm'}, Ack{Outcome: Fail, Text: "the broker sent a packet of type 3 before CONNACK"}, true},
	} {
		if got, whole := connack(test.read); got != test.want || whole != test.whole {
			t.Errorf("%s: %+v, %v", test.name, got, whole)
		}
	}
}
