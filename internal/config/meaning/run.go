// SPDX-License-Identifier: Apache-2.0

// Package meaning says what the values in a project's files mean together: the setup of
// the run, what is missing to estimate it, and what no figure shows.
package meaning

import (
	"cmp"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// Run is the training run that the files of a project describe: what their values
// mean, together and with what the trainer does by itself.
type Run struct {
	*projects.Found
	// Bindings are the settings that the files hold, in the order in which people
	// think of them.
	Bindings []projects.Binding

	transformers string // its version, where it is known
	trl          string // and TRL's
	gpus         int    // how many its user names, 0 where the files are to say
}

// New is the run that was found in a folder.
func New(found *projects.Found) *Run {
	p := &Run{Found: found, transformers: installed(found.Files(), transformersInfo), trl: installed(found.Files(), trlInfo)}
	for _, b := range p.Bound {
		if !systems.IsSetting(b.Setting) || p.IsUnused(b.Setting) {
			continue
		}
		if b.Setting == "optimizer" && b.Key.Beside != nil {
			b.Value = p.withKernel(b.Value)
		}
		p.Bindings = append(p.Bindings, b.Binding)
	}
	return p
}

// RunsAs has the project run as another does by the word of its user.
func (p *Run) RunsAs(other *Run) {
	p.Uses(other.transformers)
	p.Spans(other.gpus)
}

// Spans has the project run on as many GPUs as its user names, spread as its files
// say; 0 leaves it as it is.
func (p *Run) Spans(gpus int) {
	p.gpus = cmp.Or(gpus, p.gpus)
}

// Uses has the project run with a version of transformers that its user names; ""
// leaves it as it is.
func (p *Run) Uses(transformers string) {
	p.transformers = cmp.Or(transformers, p.transformers)
}
