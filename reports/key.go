package reports

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LoadKey reads the key with which a state directory signs its seals, and
// makes it where there is none: StateDir/key, PKCS #8 in PEM, readable by its
// owner only. Several processes that ask at once get the same key.
func LoadKey(stateDir string) (ed25519.PrivateKey, error) {
	path := filepath.Join(stateDir, "key")
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeKey(path); err != nil {
		return nil, fmt.Errorf("make the signing key %s: %w", path, err)
	}
	return readKey(path)
}

// PublicKey is the key of a state directory as its seals name it, in hexadecimal. It makes
// none: where there is no key, the error is [fs.ErrNotExist].
func PublicKey(stateDir string) (string, error) {
	key, err := readKey(filepath.Join(stateDir, "key"))
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(key.Public().(ed25519.PublicKey)), nil
}

func readKey(path string) (ed25519.PrivateKey, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, fmt.Errorf("read the signing key %s: not PEM; move the file away and a new key is made", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the signing key %s: %w", path, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read the signing key %s: a %T, want ed25519; move the file away and a new key is made", path, parsed)
	}
	return key, nil
}

// makeKey writes a new key beside path and links it into place: a link, unlike
// a rename, never replaces the key that somebody else made meanwhile.
func makeKey(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key.*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	werr := pem.Encode(tmp, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := errors.Join(werr, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
