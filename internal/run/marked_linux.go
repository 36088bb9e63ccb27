// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// isolate puts the command into its own process group.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// marked lists the processes whose environment contains a run's mark, even if they moved to other groups or sessions.
func marked(mark string) []int {
	if mark == "" {
		return nil
	}
	var out []int
	for pid, m := range marks() {
		if m == mark {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out
}

// marks returns the marks of all readable processes except this one.
func marks() map[int]string {
	out := map[int]string{}
	for _, pid := range pids() {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if mark, ok := variable(env, markName); ok && err == nil && pid != os.Getpid() {
			out[pid] = mark
		}
	}
	return out
}

// variable returns a variable from an environment in /proc's format, and whether it is set.
func variable(env []byte, name string) (string, bool) {
	start := []byte(name + "=")
	if !bytes.Contains(env, start) {
		return "", false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, start); ok {
			return string(value), true
		}
	}
	return "", false
}

// unprobed reports whether one of a run's processes has loaded PyTorch but was started without the probe's folder in
// PYTHONPATH, because something in between reset it.
func unprobed(mark string) bool {
	for _, pid := range marked(mark) {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		env, err := os.ReadFile(filepath.Join(proc, "environ"))
		if err != nil || len(env) == 0 || hasProbe(env, mark) {
			continue
		}
		if maps, err := os.ReadFile(filepath.Join(proc, "maps")); err == nil && bytes.Contains(maps, []byte("/libtorch")) {
			return true
		}
	}
	return false
}

// hasProbe reports whether PYTHONPATH contains the probe's folder, in an environment in /proc's format.
func hasProbe(env []byte, folder string) bool {
	path, ok := variable(env, "PYTHONPATH")
	return ok && strings.Contains(path, folder)
}

// groupAlive reports whether the group has a process left. Zombies do not count: in a container they may
// stay forever.
func groupAlive(group int) bool {
	return slices.ContainsFunc(stats(), func(s stat) bool { return s.group == group && s.state != 'Z' })
}
