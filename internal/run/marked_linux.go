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
