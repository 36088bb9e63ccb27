// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"snug/internal/pattern"
)

// Checkpoint is a saved state of a training run, which may be resumed with the config that is about to
// change. (It is not gradient checkpointing, which is a setting.)
type Checkpoint struct {
	Path     string // relative to the project's folder
	Step     int    // optimizer steps so far; 0 if unknown
	MaxSteps int    // steps of the whole run; 0 if unknown
	Batch    int    // samples per GPU in that run; 0 if unknown
	Trainer  bool   // written by transformers' Trainer

	made time.Time
}

// Limits of the search for checkpoints: the depth of folders and the number of entries read.
const (
	checkpointDepth   = 5
	checkpointEntries = 20000
)

var (
	checkpointFolder = pattern.New(`^(?:checkpoint|step|global_step|iter)[-_]?([0-9]+)$`)
	checkpointFile   = pattern.New(`^(?:last|.*step[=_-]?([0-9]+).*)\.ckpt$`)
	checkpointSkips  = []string{"node_modules", "site-packages", "dist-packages", "__pycache__", "venv", "env"}
)

// LastCheckpoint returns the newest checkpoint in a project's folder, or nil.
func (s *Store) LastCheckpoint() *Checkpoint {
	var newest *Checkpoint
	seen := 0
	queue := []string{"."}
	for n := 0; n < len(queue) && seen < checkpointEntries; n++ {
		entries, err := s.folder.ReadDir(queue[n])
		if err != nil {
			continue // a checkpoint that cannot be read cannot be resumed either
		}
		for _, e := range entries {
			seen++
			name := path.Join(queue[n], e.Name())
			if c := checkpoint(name, e, entries); c != nil && (newest == nil || c.later(newest)) {
				newest = c
			} else if c == nil && e.IsDir() && descend(name) {
				queue = append(queue, name)
			}
		}
	}
	if newest != nil {
		s.trainerState(newest)
	}
	return newest
}

func (c *Checkpoint) later(than *Checkpoint) bool {
	if !c.made.Equal(than.made) {
		return c.made.After(than.made)
	}
	return c.Step > than.Step
}

func descend(name string) bool {
	base := path.Base(name)
	return !strings.HasPrefix(base, ".") && !slices.Contains(checkpointSkips, base) && strings.Count(name, "/") < checkpointDepth
}

// checkpoint returns a folder's entry as a checkpoint; nil if it is not one.
func checkpoint(name string, e fs.DirEntry, beside []fs.DirEntry) *Checkpoint {
	c := &Checkpoint{Path: name}
	switch m := checkpointFolder.Find(e.Name()); {
	case e.IsDir() && m != nil:
		c.Step, _ = strconv.Atoi(m[1])
	case e.IsDir():
		return nil
	case checkpointFile.In(e.Name()):
		c.Step, _ = strconv.Atoi(checkpointFile.Find(e.Name())[1])
	case e.Name() == "trainer_state.json" && hasWeights(beside):
		c.Path = path.Dir(name)
	default:
		return nil
	}
	if info, err := e.Info(); err == nil {
		c.made = info.ModTime()
	}
	return c
}

func hasWeights(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		ext := path.Ext(e.Name())
		return ext == ".pt" || ext == ".safetensors" || ext == ".bin"
	})
}

// trainerState adds the values that transformers' Trainer saved in trainer_state.json to c.
func (s *Store) trainerState(c *Checkpoint) {
	data, err := s.folder.ReadFile(path.Join(c.Path, "trainer_state.json"))
	if err != nil {
		return
	}
	var state struct {
		GlobalStep     int `json:"global_step"`
		MaxSteps       int `json:"max_steps"`
		TrainBatchSize int `json:"train_batch_size"`
	}
	if json.Unmarshal(data, &state) != nil {
		return
	}
	c.Trainer = true
	c.Step, c.MaxSteps, c.Batch = max(c.Step, state.GlobalStep), max(state.MaxSteps, 0), max(state.TrainBatchSize, 0)
}

// Batches is how a run's samples are divided.
type Batches struct {
	Batch        int // samples per GPU in each forward pass
	Accumulation int // forward passes per optimizer step
}

// Effective returns the samples per GPU of one optimizer step.
func (b Batches) Effective() int { return b.Batch * b.Accumulation }

// Warnings returns warnings about the effects of a new batch on a resumed run.
func (c *Checkpoint) Warnings(before, after Batches) []string {
	if before == after || before.Effective() == 0 || after.Effective() == 0 {
		return nil
	}
	at := c.Path
	if c.Step > 0 {
		at += fmt.Sprintf(" is at step %d", c.Step)
		if c.MaxSteps > 0 {
			at += fmt.Sprintf(" of %d", c.MaxSteps)
		}
	} else {
		at += " is a checkpoint"
	}
	var warnings []string
	if before.Effective() == after.Effective() {
		warnings = append(warnings, fmt.Sprintf("%s: the effective batch stays %d samples per GPU, so a run resumed from it keeps its steps and its schedule", at, before.Effective()))
	} else {
		warnings = append(warnings, fmt.Sprintf("%s: a run resumed from it continues with %d instead of %d samples per GPU and step: its step count no longer shows how much data it has seen; warmup, decay, max_steps and save_steps still count steps; a run length in epochs becomes a different number of steps", at, after.Effective(), before.Effective()))
	}
	// See transformers pull requests 27568 (November 2023) and 43770 (February 2026).
	if c.Trainer && c.Batch > 0 && c.Batch != after.Batch {
		warnings = append(warnings, fmt.Sprintf("%s/trainer_state.json contains train_batch_size %d; transformers from 4.36 until a fix in February 2026 resumes with that instead of the config's %d", c.Path, c.Batch, after.Batch))
	}
	return warnings
}
