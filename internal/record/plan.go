// SPDX-License-Identifier: Apache-2.0

package record

import (
	"time"

	"snug/internal/profile"
	"snug/internal/setup"
)

// The defaults of every command that records. Optimizers allocate their states in the first step, and the third step
// is like all later ones.
const (
	DefaultSteps   = 3                // optimizer steps per run
	DefaultTimeout = 15 * time.Minute // time limit for one run
)

// Plan describes what to record.
type Plan struct {
	// Command is the training command, as the user would type it. {batch} marks where a size is inserted.
	Command []string
	// Sizes are the sizes at which Record runs the command, once each; the empty size is the unchanged command. A
	// session without sizes runs what Bind prepares.
	Sizes []profile.Point
	// Configs are the config files with the varied settings. If there are none, the files that the command names are
	// used, or else those in the folder.
	Configs []string
	// Settings are set in every run in addition to its size, as Bind does.
	Settings setup.Values
	// Reference is what the measured runs are compared with; nil means no comparison.
	Reference *Reference

	Steps       int           // optimizer steps to record, at least 1
	Stacks      bool          // record where allocations come from: slower steps, more reliable profiles
	KeepRunning bool          // the command continues after its recorded steps
	Timeout     time.Duration // time limit for one run; 0: none
	Quiet       bool          // the user does not see what the command prints
	Failures    int           // snapshots of failed requests to keep (failures.go); 0: none
	Limit       uint64        // most bytes that PyTorch may reserve on a GPU; 0: no limit
	Measure     *Measure      // how runs are measured, as in snug tune; nil: they are recorded

	// Batch means that the command is a Slurm batch script, with or without sbatch before it. Shared is then the folder
	// for files that the nodes must see: the probe, copies of files, and reports.
	Batch  bool
	Shared string

	// Out is the file for the profile, if sizes are varied; Keep is the folder for copies of the recordings, "" for
	// none. Both are written atomically.
	Out, Keep string
}

// Measure says how to measure a run without recording it: only its times and peaks matter, so its steps are as fast
// as without snug.
type Measure struct {
	Steady     float64 // a run ends early once its step time is known to within this fraction
	WorstFirst bool    // the first batch contains the longest samples in the dataset

	StartTimeout time.Duration // time limit for the first step; 0: none
	StepTimeout  time.Duration // time limit from one step to the next; 0: none
	EndTimeout   time.Duration // time limit from the last step to the end of the command; 0: the default
}

// oomTimeout is how long a trial's processes may continue after one of them ran out of GPU memory: a launcher needs a
// moment to end the others, and without a launcher they wait for it forever.
const oomTimeout = 5_000 * time.Millisecond

// varies reports whether the plan runs the command at several sizes, and so produces a profile.
func (p *Plan) varies() bool { return len(p.Sizes) > 0 && len(p.Sizes[0]) > 0 }
