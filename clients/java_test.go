package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheLockOfJars(t *testing.T) {
	lib := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		file := filepath.Join(lib, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("org/b/two/1.0/two-1.0.jar", "2")
	write("org/a/one/2.0.Final/one-2.0.Final.jar", "1")

	lock, err := lockOfJars(lib)
	if err != nil {
		t.Fatal(err)
	}
	want := "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b  org.a:one:2.0.Final\n" +
		"d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35  org.b:two:1.0\n"
	if diff := cmp.Diff(want, string(lock)); diff != "" {
		t.Error(diff)
	}

	jars, err := parseJars(lock)
	if err != nil {
		t.Fatal(err)
	}
	write("one-2.0.Final.jar", "1")
	if err := jars[0].verify(lib); err != nil {
		t.Error(err)
	}
	write("one-2.0.Final.jar", "one")
	if err := jars[0].verify(lib); err == nil || !strings.Contains(err.Error(), "the lock says 6b86b273") ||
		!strings.Contains(err.Error(), "nothing of it was kept") {
		t.Errorf("%v", err)
	}
}

func TestALockOfJarsThatIsNone(t *testing.T) {
	for _, lock := range []string{"", "\n", "6b86b273  org.a:one", "6b86b273 org.a:one:1 more"} {
		if jars, err := parseJars([]byte(lock)); err == nil {
			t.Errorf("%q is %v", lock, jars)
		}
	}
}
