package hosttest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// insideEnv is set in the copy of a test binary that runs in namespaces of its
// own.
const insideEnv = "RMQ_TEST_INSIDE"

const namespaces = syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS

// nobody is the ordinary user, where root runs the tests.
const nobody = 65534

// Inside reports whether the test runs in network, mount and pid namespaces of its
// own. If it does not, Inside runs it there and passes on the outcome. Without root,
// a user namespace surrounds them.
func Inside(t testing.TB) bool {
	t.Helper()
	if os.Getenv(insideEnv) != "" {
		own(t)
		return true
	}
	cmd := exec.Command("/proc/self/exe", only(t)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if os.Getuid() != 0 {
		asUser(cmd.SysProcAttr)
	}
	rerun(t, cmd)
	return false
}

// InsideAsUser is Inside for an ordinary user.
func InsideAsUser(t testing.TB) bool {
	t.Helper()
	if os.Getuid() != 0 || os.Getenv(insideEnv) != "" {
		return Inside(t)
	}
	// Nobody makes the user namespace, as one that root made would know who did.
	args := []string{"--user", "--map-root-user", "--pid", "--fork", "--net", "--mount", Copy(t)}
	cmd := exec.Command(Program(t, "unshare"), append(args, only(t)...)...)
	cmd.Dir = "/" // nobody may not enter every other
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	rerun(t, cmd)
	return false
}

// asUser adds a user namespace, in which whoever makes it is root.
func asUser(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
}

// only are the arguments that run this test or benchmark alone.
func only(t testing.TB) []string {
	if _, ok := t.(*testing.B); ok {
		return []string{"-test.run=^$", "-test.bench=^" + t.Name() + "$", "-test.benchtime=1x", "-test.timeout=10m"}
	}
	return []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.count=1", "-test.timeout=10m"}
}

func rerun(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		Skip(t, "no namespaces: "+err.Error())
	}
	err := cmd.Wait()
	said := out.String()
	_, benchmark := t.(*testing.B)
	if benchmark {
		fmt.Print(said) // Logf shows ten lines
	}
	switch {
	case err != nil && strings.Contains(said, "unshare:"):
		Skip(t, fmt.Sprintf("no namespaces: %v %s", err, said))
	case err != nil:
		t.Errorf("%v\n%s", err, said)
	case strings.Contains(said, "--- SKIP: "+t.Name()+" "):
		Skip(t, said)
	case !benchmark && !strings.Contains(said, "--- PASS: "+t.Name()+" "):
		t.Errorf("it did not run:\n%s", said)
	default:
		t.Log(said)
	}
}

// own makes mounts the test's own, and shows it its own processes.
func own(t testing.TB) {
	t.Helper()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
}

// Copy is this test binary where every user can run it.
func Copy(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rmq-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	path := filepath.Join(dir, "copy.test")
	if err == nil {
		err = os.WriteFile(path, binary, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
