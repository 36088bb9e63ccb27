// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// marked lists the processes whose environment carries a run's mark, wherever
// they have put themselves since.
func marked(mark string) []int {
	if mark == "" {
		return nil
	}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	want := []byte(markName + "=" + mark + "\x00")
	var out []int
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, want) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

// unprobed says whether a process of a run has loaded PyTorch and was started
// without the probe's folder in PYTHONPATH: something on the way has set that anew.
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

// hasProbe says whether PYTHONPATH leads to the probe in an environment as /proc
// shows it.
func hasProbe(env []byte, folder string) bool {
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if path, ok := bytes.CutPrefix(v, []byte("PYTHONPATH=")); ok {
			return bytes.Contains(path, []byte(folder))
		}
	}
	return false
}

// groupAlive says whether the group has a process left. Dead ones that nobody
// has collected do not count: in a container that may take for ever.
func groupAlive(group int) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		// 12 (name) S 1 12 …: state, parent, group. The name may hold anything.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(group) && string(fields[0]) != "Z" {
			return true
		}
	}
	return false
}
