// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"snug/internal/config"
	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// Optimize with --profile runs the training command at small sizes first. Of a
// model that snug knows, the measured peaks say how far off its estimates are;
// of any other, the recordings are the model.

// measureFirst runs the command and gives back today's runs as they are to be
// planned then.
func (o *optimizeOptions) measureFirst(ctx context.Context, env Env, args []string) (*today, error) {
	words, err := o.command(env, args)
	if err != nil {
		return nil, err
	}
	t, err := o.today(env)
	base, err := known(t, err)
	if err != nil {
		return nil, err
	}
	if base == nil && !o.saysBatch(env) {
		return nil, errors.New("--profile: no config file here says the batch of today; give it with --batch, or --target-effective-batch")
	}
	p, err := o.profiling(ctx, env, words, base)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.base = base
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	o.measured = p
	if base != nil {
		return t, nil
	}
	o.recorded = p.written
	return o.today(env)
}

// known is the run of a model that snug knows; nil where it does not, so that
// recordings have to tell. Whatever else is wrong would be wrong after a run, too,
// and is an error before it.
func known(t *today, err error) (*setup.Setup, error) {
	switch {
	case errors.Is(err, setup.ErrUnknownModel):
		return nil, nil
	case err != nil:
		return nil, err
	case len(t.requests) > 1:
		return nil, errors.New("--profile measures one run; give one setup")
	case t.example: // no configuration was found here
		return nil, nil
	}
	r := t.requests[0]
	switch {
	case errors.Is(r.err, setup.ErrUnknownModel):
		return nil, nil
	case r.err != nil:
		return nil, errors.New(r.from.located(r.err))
	case r.setup.Model.Program != nil || !r.setup.Model.Known(): // a profile, or another's model_type
		return nil, nil
	}
	return r.setup, nil
}

// command is what trains: behind --, or what snug.yaml says.
func (o *optimizeOptions) command(env Env, args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	words, err := config.Command(projectFiles{o.folder})
	if err == nil && len(words) == 0 {
		err = errors.New("--profile: which command trains? put it behind --, as in snug optimize --profile -- python train.py --batch {batch}, or into snug.yaml as command")
	}
	return words, err
}

// saysBatch tells whether the effective batch of today will be known.
func (o *optimizeOptions) saysBatch(env Env) bool {
	if o.file != "" || o.target > 0 || o.flags.Changed("batch") {
		return true
	}
	project, err := o.projectFlags.open(env)
	return err == nil && project.Fields()["batch"] != nil
}

// smallBatches is what a command is run at where nobody says.
var smallBatches = []string{"batch=2,3"}

// profiling prepares the runs: at two small batches where the command or its
// config files have a place for them, else, where that is enough, as it is.
func (o *optimizeOptions) profiling(ctx context.Context, env Env, words []string, base *setup.Setup) (*profiling, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	options := profileOptions{
		vary: o.vary, steps: 3, stacks: true, timeout: 15 * time.Minute, out: filepath.Join(o.folder, profileFile),
		configs: names, oneSize: base != nil, ownInput: o.file == "-", json: true, // standard output is for the plan
	}
	if len(options.vary) > 0 {
		return newProfiling(ctx, env, options, words)
	}
	options.vary = smallBatches
	p, err := newProfiling(ctx, env, options, words)
	if err != nil && base != nil {
		options.vary, options.stacks = nil, false
		return newProfiling(ctx, env, options, words)
	}
	return p, err
}

// sized is the run to hold against a measured one, with that one's size.
func (p *profiling) sized(over map[string]any) (*setup.Setup, map[string]any, error) {
	text, err := json.Marshal(p.base)
	if err != nil {
		return nil, nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, nil, err
	}
	if m, _ := fields["model"].(map[string]any); m["config"] != nil {
		delete(m, "name") // it was looked up already
	}
	fields = lay(over, fields)
	s, err := setup.Decode(fields, setup.Source{Open: p.env.find, Hub: hub(p.env.Getenv)})
	if err == nil {
		s.Model.Name = p.base.Model.Name
	}
	return s, fields, err
}

// residual is how far off the estimates of a run are on a card: as they have been
// here; as those of the run that was measured first; or, where that was on another
// card, at least as far as usual. Nil where nothing was measured.
func (o *optimizeOptions) residual(env Env, s *setup.Setup, card gpu.Card) *estimate.Range {
	past := openPast(env, card.Name)
	defer past.close()
	if o.measured == nil {
		return past.alike(s, card, torchOf(s))
	}
	var out *estimate.Range
	for _, r := range o.measured.runs {
		if r.compared == nil || r.compared.estimate.PeakReserved == 0 {
			continue
		}
		off := float64(r.rank.PeakReserved())/float64(r.compared.estimate.PeakReserved) - 1
		if out == nil {
			out = &estimate.Range{Low: off, High: off}
		}
		out.Cases, out.Low, out.High = out.Cases+1, min(out.Low, off), max(out.High, off)
	}
	if out == nil {
		return nil
	}
	if on := cardOf(o.measured.runs[0].rank); on != card.Name {
		usual := estimate.Usual(o.measured.base)
		return &estimate.Range{Cases: out.Cases, Low: min(out.Low, usual.Low), High: max(out.High, usual.High)}
	}
	torch := plainVersion(o.measured.runs[0].rank.Versions["torch"])
	return cmp.Or(past.alike(o.measured.base, card, torch), out)
}
