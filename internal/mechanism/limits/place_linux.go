package limits

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Find returns where a group of that name with the controller can be made for a
// process, and changes nothing. In version 1 that is below the group of the process,
// so that all its limits stay. In version 2 only a group without processes of its own
// has groups below it that limit anything. Find then takes the nearest group above
// the process that hands the controller to its children. The error wraps
// [errors.ErrUnsupported] and says what is missing.
func Find(pid int, c Controller, name string) (Place, error) {
	h, group, err := hierarchyOf(pid, c)
	if err != nil {
		return Place{}, err
	}
	own, err := h.dir(group)
	if err != nil {
		return Place{}, err
	}
	back := own
	if filepath.Base(own) == name { // another limit put it there
		own, back = filepath.Dir(own), ""
	}
	base := own
	if h.unified {
		if base, err = h.nearest(own, c); err != nil {
			return Place{}, err
		}
	}
	if err := writable(base); err != nil {
		return Place{}, unsupported("a control group for %s cannot be made in %s: %v; run as root, or have the group delegated (systemd-run --user --scope -p Delegate=yes)", c, base, err)
	}
	return Place{Dir: filepath.Join(base, name), Back: back}, nil
}

// A hierarchy is one mounted tree of groups.
type hierarchy struct {
	mount, root string // where it is mounted, and which of its groups that is
	unified     bool   // version 2
	controllers []string
}

// hierarchyOf finds the tree that has the controller, version 1 first: there a
// controller is in one tree only.
func hierarchyOf(pid int, c Controller) (hierarchy, string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchy{}, "", unsupported("read the mounts: %v", err)
	}
	member, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return hierarchy{}, "", fmt.Errorf("read the control groups of process %d: %w", pid, err)
	}
	return choose(hierarchies(string(mounts)), memberships(string(member)), c)
}

func choose(all []hierarchy, member map[string]string, c Controller) (hierarchy, string, error) {
	for _, h := range all {
		if path, ok := member[string(c)]; ok && !h.unified && slices.Contains(h.controllers, string(c)) {
			return h, path, nil
		}
	}
	for _, h := range all {
		if path, ok := member[""]; ok && h.unified {
			return h, path, nil
		}
	}
	return hierarchy{}, "", unsupported("no control groups with the %s controller are mounted; mount -t cgroup2 none /sys/fs/cgroup", c)
}

// hierarchies reads mountinfo(5): id, parent, device, root, mount point,
// options, optional fields up to a dash, type, source, options of the tree.
func hierarchies(mountinfo string) (all []hierarchy) {
	for line := range strings.Lines(mountinfo) {
		front, back, ok := strings.Cut(strings.TrimSpace(line), " - ")
		f, b := strings.Fields(front), strings.Fields(back)
		if !ok || len(f) < 5 || len(b) < 3 || b[0] != "cgroup" && b[0] != "cgroup2" {
			continue
		}
		all = append(all, hierarchy{
			mount: unescape(f[4]), root: unescape(f[3]), unified: b[0] == "cgroup2",
			controllers: strings.Split(b[2], ","),
		})
	}
	return all
}

func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(path)
}

// memberships reads cgroup(7)'s /proc/PID/cgroup: the group by controller, that
// of version 2 by "".
func memberships(text string) map[string]string {
	member := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, c := range strings.Split(f[1], ",") {
			member[c] = f[2]
		}
	}
	return member
}

// dir is where a group is seen here.
func (h hierarchy) dir(group string) (string, error) {
	rel, err := filepath.Rel(h.root, group)
	if err != nil || strings.HasPrefix(rel, "..") {
		return "", unsupported("the control group %s is outside of what is mounted at %s", group, h.mount)
	}
	dir := filepath.Join(h.mount, rel)
	if _, err := os.Stat(dir); err != nil {
		return "", unsupported("the control group of the process is not to be seen: %v", err)
	}
	return dir, nil
}

// nearest is the closest group at or above own that hands the controller down.
// One that hands down all that we use and may be written to is preferred: then
// several limits of a process are in one group.
func (h hierarchy) nearest(own string, c Controller) (string, error) {
	var some, seen []string
	for dir := own; ; dir = filepath.Dir(dir) {
		given := handsDown(dir)
		seen = append(seen, dir)
		if slices.Contains(given, string(c)) {
			if writable(dir) == nil && slices.Contains(given, string(CPU)) &&
				slices.Contains(given, string(Memory)) && slices.Contains(given, string(Pids)) {
				return dir, nil
			}
			some = append(some, dir)
		}
		if dir == h.mount || len(dir) < len(h.mount) {
			break
		}
	}
	for _, dir := range some {
		if writable(dir) == nil {
			return dir, nil
		}
	}
	if len(some) > 0 {
		return some[0], nil
	}
	top := seen[len(seen)-1]
	return "", unsupported("no control group above the process hands down the %s controller; as root: echo +%s > %s", c, c, filepath.Join(top, "cgroup.subtree_control"))
}

func handsDown(dir string) []string {
	b, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return strings.Fields(string(b))
}

// writable reports whether a group can be made in dir and a process be moved
// from below dir into it.
func writable(dir string) error {
	for _, path := range []string{dir, filepath.Join(dir, "cgroup.procs")} {
		if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
			return fmt.Errorf("write to %s: %w", path, err)
		}
	}
	return nil
}
