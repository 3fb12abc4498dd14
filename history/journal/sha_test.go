package journal_test

import (
	"crypto/sha256"
	"fmt"
)

func sha(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
