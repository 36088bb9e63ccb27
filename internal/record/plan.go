// SPDX-License-Identifier: Apache-2.0

package record

import (
	"time"

	"snug/internal/profile"
	"snug/internal/setup"
)

// The defaults of every command that records. Optimizers make their states in the first
// step, and the third step is like all that follow.
const (
	DefaultSteps   = 3                // optimizer steps per run
	DefaultTimeout = 15 * time.Minute // for one run
)

// Plan says what to record.
type Plan struct {
	// Command is what trains, as the user would type it. {batch} marks where a size goes.
	Command []string
	// Sizes are the sizes at which Record runs the command, once each; the empty size is the command as
	// it is. A session without sizes runs what Bind prepares.
	Sizes []profile.Point
	// Configs are the config files that hold the varied settings. If none are named,
	// they are those that the command names, or those of the folder.
	Configs []string
	// Settings are put into every run besides its size, as Bind does.
	Settings setup.Values
	// Reference is what the measured runs are compared with; nil means no comparison.
	Reference *Reference

	Steps       int           // optimizer steps to record, at least 1
	Stacks      bool          // record where allocations come from: slower steps, more reliable profiles
	KeepRunning bool          // the command goes on after its recorded steps
	Timeout     time.Duration // of one run; 0: none
	Quiet       bool          // the user does not see what the command prints
	Failures    int           // snapshots of failed requests to keep; 0 for none: failures.go
	Limit       uint64        // most bytes that PyTorch may reserve on a GPU; 0: no limit
	Measure     *Measure      // how runs are measured, as the trials of a tune are; nil: they are recorded

	// Batch says that the command is a batch script of Slurm, with or without sbatch before it. Shared is then the folder
	// for what its nodes have to see: the probe, copies of files, reports.
	Batch  bool
	Shared string

	// Out is the file for the profile, if sizes are varied, and Keep the folder to
	// copy the recordings to, "" for none. Both are written whole or not at all.
	Out, Keep string
}

// Measure says how a run is measured that is not recorded: only its times and peaks count, so its steps are as
// fast as without snug.
type Measure struct {
	Steady     float64 // a run ends before its last step once the time of a step is known to within this share
	WorstFirst bool    // the longest samples of the data set make the first batch

	StartTimeout time.Duration // until the first step; 0: none
	StepTimeout  time.Duration // from one step to the next; 0: none
	EndTimeout   time.Duration // from the last step to the end of the command; 0: the usual
}

// oomTimeout is how long the processes of a trial may go on after one of them ran out of GPU memory: a launcher
// needs a moment to end the others, and without one they wait for it for ever.
const oomTimeout = 5_000 * time.Millisecond

// varies reports whether the plan runs the command at several sizes, and so makes a profile.
func (p *Plan) varies() bool { return len(p.Sizes) > 0 && len(p.Sizes[0]) > 0 }
