// Package microvm runs one static program as the only process of a machine of
// its own, on a kernel that has what this host's has not. It is for tests: qemu,
// Debian's cloud kernel with its modules, and an initramfs with the program as
// process 1. It needs no KVM, and takes seconds.
package microvm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Options say what runs in the machine.
type Options struct {
	Kernel  *Kernel
	Modules []string // names, loaded in order with what they need
	Program string   // path of a static binary for Linux; it calls [Begin] first and [End] last
	Args    []string // of the program; spaces are not possible
	Env     []string // NAME=value of the program, the same
	Disks   []string // raw images, /dev/vda and on; need the module virtio_blk
	Memory  int      // MiB; 0: 512
	Shift   int      // an instruction takes 2^Shift ns of the machine's time; 0: 1
}

// marker is in the environment of the program in the machine.
const marker = "RMQ_MICROVM"

// exitLine is what [End] writes before the machine is off.
const exitLine = "microvm: exit status "

// Inside reports whether this process is the program of a machine.
func Inside() bool { return os.Getpid() == 1 && os.Getenv(marker) != "" }

// A Machine is one that runs.
type Machine struct {
	cmd  *exec.Cmd
	out  lines
	root string
	done chan error
}

// Start starts a machine. The caller must wait for it. The machine ends with the
// context, as by loss of power.
func Start(ctx context.Context, opt Options) (*Machine, error) {
	dir, err := os.MkdirTemp("", "microvm")
	if err != nil {
		return nil, err
	}
	m := &Machine{root: dir, done: make(chan error, 1)}
	if err := m.start(ctx, opt); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("start a microVM: %w", err)
	}
	return m, nil
}

func (m *Machine) start(ctx context.Context, opt Options) error {
	initrd := filepath.Join(m.root, "initrd")
	if err := opt.initramfs(initrd); err != nil {
		return err
	}
	line := append([]string{"console=ttyS0", "quiet", "panic=-1", marker + "=1"}, opt.Env...)
	line = append(append(line, "--"), opt.Args...)
	args := []string{
		// Emulated: KVM inside a virtual machine may be there and never boot.
		// Its clock runs with its instructions and jumps where it is idle, so a
		// busy host makes nothing in it late.
		"-accel", "tcg", "-icount", fmt.Sprintf("shift=%d,sleep=off", cmp.Or(opt.Shift, 1)), "-m", strconv.Itoa(cmp.Or(opt.Memory, 512)),
		"-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot",
		"-kernel", opt.Kernel.Image, "-initrd", initrd, "-append", strings.Join(line, " "),
	}
	for _, disk := range opt.Disks {
		// Every write of the guest goes to the file at once, as to a disk whose own
		// cache is off. Only data that the guest has not written is lost.
		args = append(args, "-drive", "file="+disk+",format=raw,if=virtio,cache=writethrough")
	}
	m.cmd = exec.CommandContext(ctx, emulator, args...)
	m.cmd.Stdout, m.cmd.Stderr = &m.out, &m.out
	if err := m.cmd.Start(); err != nil {
		return err
	}
	go func() {
		m.done <- m.cmd.Wait()
		os.RemoveAll(m.root)
	}()
	return nil
}

// Output is what the machine has written so far.
func (m *Machine) Output() string { return m.out.String() }

// Await waits until the machine has written a text, or is off.
func (m *Machine) Await(ctx context.Context, text string) error {
	for {
		changed := m.out.changed()
		if strings.Contains(m.Output(), text) {
			return nil
		}
		select {
		case <-changed:
		case err := <-m.done:
			m.done <- err
			if strings.Contains(m.Output(), text) {
				return nil
			}
			return fmt.Errorf("the microVM is off and did not write %q: %v\n%s", text, err, m.Output())
		case <-ctx.Done():
			return fmt.Errorf("the microVM did not write %q: %w\n%s", text, ctx.Err(), m.Output())
		}
	}
}

// Kill takes the machine's power away.
func (m *Machine) Kill() error {
	err := m.cmd.Process.Kill()
	m.done <- <-m.done
	return err
}

// Wait waits until the machine is off, and answers what it wrote. An error says
// that the program in it did not end with status 0.
func (m *Machine) Wait() (string, error) {
	err := <-m.done
	m.done <- err
	out := m.Output()
	if err != nil {
		return out, fmt.Errorf("qemu: %w", err)
	}
	_, after, ok := strings.Cut(out, exitLine)
	if !ok {
		return out, fmt.Errorf("the program in the microVM did not end by itself")
	}
	if status := strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]); status != "0" {
		return out, fmt.Errorf("the program in the microVM ended with status %s", status)
	}
	return out, nil
}

func (o Options) initramfs(path string) error {
	var b bytes.Buffer
	w := archive{to: &b}
	w.directory("dev")
	w.console("dev/console")
	w.directory("proc")
	w.directory("sys")
	w.directory("tmp")
	w.directory("modules")
	modules, err := o.Kernel.modules(o.Modules)
	if err != nil {
		return err
	}
	for i, m := range modules {
		if err := w.file(fmt.Sprintf("modules/%03d-%s", i, filepath.Base(m)), m, 0o644); err != nil {
			return err
		}
	}
	if err := w.file("init", o.Program, 0o755); err != nil {
		return err
	}
	w.end()
	return os.WriteFile(path, b.Bytes(), 0o600)
}
