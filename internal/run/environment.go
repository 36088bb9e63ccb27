// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"slices"
	"strings"
)

// markName is the variable by which a run's processes are found again.
const markName = "SNUG_RUN"

// Env returns an environment that loads the probe, with two other changes. Python does not buffer its output, as it
// would through a pipe. And the C library uses large pages: PyTorch's trace grows by megabytes in each step, and
// getting them 4 KiB at a time doubles the cost of recording.
func (f *Folder) Env(base []string) []string {
	path, tunables := f.Path, ""
	out := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		switch name {
		case "PYTHONPATH":
			if value != "" {
				path += string(os.PathListSeparator) + value
			}
		case "GLIBC_TUNABLES":
			tunables = value
		case markName:
		default:
			return false
		}
		return true
	})
	if !slices.ContainsFunc(out, func(v string) bool { return strings.HasPrefix(v, "PYTHONUNBUFFERED=") }) {
		out = append(out, "PYTHONUNBUFFERED=1")
	}
	return append(out, "GLIBC_TUNABLES="+withLargePages(tunables), "PYTHONPATH="+path, markName+"="+f.Path)
}

// withLargePages adds large pages to glibc's tunables, unless they are already set.
func withLargePages(tunables string) string {
	const name = "glibc.malloc.hugetlb"
	switch {
	case strings.Contains(tunables, name):
		return tunables
	case tunables == "":
		return name + "=1"
	}
	return tunables + ":" + name + "=1"
}

// MarkOf returns the run folder that marks an environment as snug's.
func MarkOf(env []string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, markName+"="); ok {
			return value
		}
	}
	return ""
}
