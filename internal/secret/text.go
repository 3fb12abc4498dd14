package secret

// A Text is a secret that cannot be written by accident: printed, logged or encoded,
// whatever it is part of, it is [scrubbed]. The zero value is none.
type Text struct {
	value *string // a pointer, so that printing an outer struct shows an address
}

// NewText returns text as a secret; "" is none.
func NewText(text string) Text {
	if text == "" {
		return Text{}
	}
	return Text{&text}
}

// Reveal is the secret itself, for whoever has to use it.
func (t Text) Reveal() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}

// IsZero reports whether there is none.
func (t Text) IsZero() bool { return t.value == nil }

// Equal compares what the secrets are.
func (t Text) Equal(other Text) bool { return t.Reveal() == other.Reveal() }

// String hides the secret.
func (t Text) String() string {
	if t.IsZero() {
		return ""
	}
	return Hidden
}

// GoString hides the secret from %#v.
func (t Text) GoString() string { return "secret.Text(" + t.String() + ")" }

// MarshalText hides the secret from JSON, YAML and logs.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText takes a secret in. One that was hidden when it was written is none.
func (t *Text) UnmarshalText(text []byte) error {
	*t = Text{}
	if string(text) != Hidden {
		*t = NewText(string(text))
	}
	return nil
}
