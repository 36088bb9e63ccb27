// SPDX-License-Identifier: Apache-2.0

package run

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/files"
)

//go:embed probe.py
var probePy []byte

// Settings are the settings of the probe.
type Settings struct {
	Steps       int  `json:"steps"`        // optimizer steps to record
	Stacks      bool `json:"stacks"`       // record Python stacks too
	KeepRunning bool `json:"keep_running"` // let the command continue after the last step
	MaxEntries  int  `json:"max_entries"`  // most trace entries to keep
	NeedsGPU    bool `json:"needs_gpu"`    // end a run that trains without a GPU, unless KeepRunning is set
	HasGPU      bool `json:"has_gpu"`      // this machine does, and shows it to the command
}

// maxEntries bounds a recording: beyond it PyTorch drops the oldest entries.
const maxEntries = 4_000_000

// Folder is the private folder of one run.
type Folder struct {
	Path  string // absolute
	keeps bool   // the run goes on after its last recorded step
}

// NewFolder makes one under parent ("" is the system's place for temporary
// files) with the probe in it.
func NewFolder(parent string, s Settings) (*Folder, error) {
	path, err := os.MkdirTemp(parent, "snug-run-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the run: %w", err)
	}
	f := &Folder{path, s.KeepRunning}
	if s.MaxEntries == 0 {
		s.MaxEntries = maxEntries
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(path, "sitecustomize.py"), probePy, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(path, "probe.json"), text, 0o600)
	}
	if err != nil {
		_ = f.Remove()
		return nil, fmt.Errorf("making the run's folder: %w; set TMPDIR to use another place", err)
	}
	return f, nil
}

// Remove removes the folder with everything in it.
func (f *Folder) Remove() error { return os.RemoveAll(f.Path) }

// markName is the variable by which a run's processes are found again.
const markName = "SNUG_RUN"

// Env is an environment with the probe in it. Nothing else changes, except that
// Python does not hold output back: through a pipe it would, on a terminal not; and
// that the C library asks for large pages. PyTorch's record of a step grows by
// megabytes, and to be given them 4 KiB at a time doubles what recording costs.
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

// withLargePages adds to settings of glibc, unless they say it already.
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

// markOf is the mark that an environment carries.
func markOf(env []string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, markName+"="); ok {
			return value
		}
	}
	return ""
}

// maxReport is the size of a report of a million steps.
const maxReport = 256 << 20

// Reports returns the reports of the processes so far, in the order in which they began.
func (f *Folder) Reports() ([]*Report, error) {
	names, err := filepath.Glob(filepath.Join(f.Path, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var out []*Report
	for _, name := range names {
		text, err := files.Read(name, maxReport)
		if err != nil {
			return nil, err
		}
		r := ReadReport(text)
		if r.Snapshot != nil {
			r.Snapshot.File = filepath.Join(f.Path, filepath.Base(r.Snapshot.File))
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b *Report) int { return compareTimes(a.Began, b.Began) })
	return out, nil
}
