// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"path/filepath"

	"snug/internal/config/projects"
	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/record"
	"snug/internal/setup"
)

// With --profile, optimize first runs the training command at small sizes. For a known model, the measured
// peaks show how far off its estimates are; for any other, the recordings are the model.

// measureFirst runs the command and returns the current runs to plan for.
func (o *optimizeOptions) measureFirst(ctx context.Context, env Env, args []string) (*today, error) {
	words, err := o.command(args)
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		o.started = o.startedScript(args)
	}
	t, err := o.today(env)
	base, err := known(t, err)
	if err != nil {
		return nil, err
	}
	if base == nil && !o.saysBatch(env) {
		return nil, errors.New("--profile: no config file here contains the batch; give --batch or --target-effective-batch")
	}
	if o.measured, err = o.record(ctx, env, words, base); err != nil {
		return nil, err
	}
	if base != nil {
		return t, nil
	}
	o.recorded = o.measured.Profile
	return o.today(env)
}

// known returns the run if its model is known, and nil if recordings are needed. Any other error would still
// be there after recording, so it is reported first.
func known(t *today, err error) (*setup.Setup, error) {
	switch {
	case errors.Is(err, setup.ErrUnknownModel):
		return nil, nil
	case err != nil:
		return nil, err
	}
	list, rest, err := begin(t.requests, 2)
	if err != nil {
		return nil, err
	}
	if t.requests = rest; len(list) > 1 {
		return nil, errors.New("--profile measures one run; give one setup")
	}
	r := list[0]
	switch {
	case t.example: // no configuration was found here
		return nil, nil
	case errors.Is(r.err, setup.ErrUnknownModel):
		return nil, nil
	case r.err != nil:
		return nil, errors.New(r.from.located(r.err))
	case r.setup.Model.Program != nil || !r.setup.Model.Known(): // a profile, or an unknown model_type
		return nil, nil
	}
	return r.setup, nil
}

// command returns the training command: after --, or from snug.yaml.
func (o *optimizeOptions) command(args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	words, err := projects.Command(projectFiles{o.folder})
	if err == nil && len(words) == 0 {
		err = errors.New("--profile: no training command; put it after --, like snug optimize --profile -- python train.py --batch {batch}, or in snug.yaml as command")
	}
	return words, err
}

// saysBatch reports whether the current effective batch is given.
func (o *optimizeOptions) saysBatch(env Env) bool {
	if o.file != "" || o.target > 0 || o.flags.Changed("batch") {
		return true
	}
	project, err := o.opened(env)
	return err == nil && project.Fields()["batch"] != nil
}

// smallBatches are the batches that a command is run at by default.
var smallBatches = []string{"batch=2,3"}

// record runs the command at the sizes of --vary, or else at two small batches. If those cannot be set and a
// known model needs no profile, it runs the command once as it is.
func (o *optimizeOptions) record(ctx context.Context, env Env, words []string, base *setup.Setup) (*record.Result, error) {
	p, err := o.plan(env, words, base)
	if err != nil {
		return nil, err
	}
	world := env.recording(progress(env, p.Steps, false), o.file, true) // standard output is for the plan
	s, err := record.Open(ctx, world, p)
	if err != nil && base != nil && len(o.vary) == 0 && !record.IsInterrupted(err) {
		p.Sizes, p.Stacks = []profile.Point{{}}, false
		s, err = record.Open(ctx, world, p)
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Record(ctx)
}

// plan returns what to record. For a known model one size is enough, because it is only compared with its
// estimate.
func (o *optimizeOptions) plan(env Env, words []string, base *setup.Setup) (record.Plan, error) {
	vary := o.vary
	if len(vary) == 0 {
		vary = smallBatches
	}
	p := record.Plan{Command: words, Steps: record.DefaultSteps, Stacks: true, Timeout: record.DefaultTimeout, Out: filepath.Join(o.folder, profileFile)}
	var err error
	if p.Configs, err = o.names(); err != nil {
		return p, err
	}
	if p.Sizes, err = varied(vary); err != nil {
		return p, err
	}
	if base == nil {
		return p, checkTwoSizes(vary, p.Sizes)
	}
	p.Reference, err = record.ReferenceTo(base, setup.Source{Open: env.find, Hub: hub(env.Getenv)})
	return p, err
}

// residual returns how far off the estimates of a run are on a card, from earlier runs here or from those just
// measured. It returns nil if nothing was measured.
func (o *optimizeOptions) residual(env Env, s *setup.Setup, card gpu.Card) *estimate.Range {
	past := env.past(card.Name)
	defer past.Close()
	if o.measured == nil {
		return past.Residual(s, card)
	}
	return o.measured.Residual(s, card, past)
}
