// SPDX-License-Identifier: Apache-2.0

// Package meaning interprets the values found in a project's files: it works out the setup of the run they
// describe, what is missing for an estimate, and what the estimate does not cover. It reads no files.
package meaning

import (
	"cmp"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// Run is the training run that the files of a project describe: their values together with the trainer's
// defaults.
type Run struct {
	*projects.Found
	// Bindings are the settings in the files, in the order of the table of settings.
	Bindings []projects.Binding

	transformers string // version, if known
	trl          string // version, if known
	gpus         int    // the number given by the user; 0 means the number in the files
}

// New returns the run that was found in a folder.
func New(found *projects.Found) *Run {
	r := &Run{Found: found, transformers: installed(found.Files(), transformersInfo), trl: installed(found.Files(), trlInfo)}
	for _, b := range r.Bound {
		if !systems.IsSetting(b.Setting) || r.IsUnused(b.Setting) {
			continue
		}
		if b.Setting == "optimizer" && b.Key.Beside != nil {
			b.Value = r.withKernel(b.Value)
		}
		r.Bindings = append(r.Bindings, b.Binding)
	}
	return r
}

// CopySettings copies the user's settings from another run: the version of transformers and the number of GPUs.
func (r *Run) CopySettings(other *Run) {
	r.SetTransformers(other.transformers)
	r.SetGPUs(other.gpus)
}

// SetGPUs sets the number of GPUs given by the user, distributed as the files specify; 0 changes nothing.
func (r *Run) SetGPUs(gpus int) {
	r.gpus = cmp.Or(gpus, r.gpus)
}

// SetTransformers sets the version of transformers given by the user; "" changes nothing.
func (r *Run) SetTransformers(transformers string) {
	r.transformers = cmp.Or(transformers, r.transformers)
}
