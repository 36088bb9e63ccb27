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

// Settings are the probe's settings.
type Settings struct {
	Steps       int  `json:"steps"`        // optimizer steps to record
	Stacks      bool `json:"stacks"`       // record Python stacks too
	KeepRunning bool `json:"keep_running"` // let the command continue after the last step
	MaxEntries  int  `json:"max_entries"`  // most trace entries to keep
	NeedsGPU    bool `json:"needs_gpu"`    // end a run that trains without a GPU, unless KeepRunning is set
	HasGPU      bool `json:"has_gpu"`      // this machine has a GPU that the command can see
	Failures    int  `json:"failures"`     // snapshots of failed requests to keep in each process, instead of one snapshot of the run

	Live *Live `json:"live,omitempty"` // if set, the run is not recorded, only watched until it ends

	Measure    bool    `json:"measure"`     // times and peaks only: nothing is recorded, so steps are as fast as without snug
	Limit      uint64  `json:"limit"`       // most bytes that PyTorch may reserve on a GPU; 0: no limit
	Steady     float64 `json:"steady"`      // end early once the step time is known to within this fraction; 0: never
	WorstFirst bool    `json:"worst_first"` // the first batch contains the longest samples in the dataset
}

// Live are the probe's settings for reporting each step over the socket in the run's folder.
type Live struct {
	WandB bool `json:"wandb"` // add the figures to what the program logs to Weights & Biases
}

// Socket returns the path of the socket that a probe with Live reports to.
func (f *Folder) Socket() string { return filepath.Join(f.Path, "watch.sock") }

// maxEntries limits the size of a recording: beyond it PyTorch drops the oldest entries.
const maxEntries = 4_000_000

const folderPrefix = "snug-run-"

// Folder is the private folder of one run.
type Folder struct {
	Path  string // absolute
	keeps bool   // the run continues after its last recorded step
}

// NewFolder creates a folder with the probe under parent ("" is the system's temporary folder).
func NewFolder(parent string, s Settings) (*Folder, error) {
	path, err := os.MkdirTemp(parent, folderPrefix)
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

// OpenFolder returns a run folder that another snug created. Its run may still be writing reports.
func OpenFolder(path string) *Folder { return &Folder{Path: path} }

// IsFolder reports whether a path is a run folder, which snug may remove.
func IsFolder(path string) bool {
	info, err := os.Lstat(filepath.Join(path, "probe.json"))
	return err == nil && info.Mode().IsRegular() && filepath.IsAbs(path) && strings.HasPrefix(filepath.Base(path), folderPrefix)
}

// RemoveEmpty removes a folder of runs and its parent if they are empty.
func RemoveEmpty(path string) {
	if os.Remove(path) == nil {
		_ = os.Remove(filepath.Dir(path))
	}
}

// Remove removes the folder and its contents.
func (f *Folder) Remove() error { return os.RemoveAll(f.Path) }

// maxReport is the size of a report of a million steps.
const maxReport = 256 << 20

// Reports returns the processes' reports so far, in the order in which the processes started.
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
		for i := range r.Kept {
			r.Kept[i].File = filepath.Join(f.Path, filepath.Base(r.Kept[i].File))
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b *Report) int { return compareTimes(a.Began, b.Began) })
	return out, nil
}
