// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"maps"

	"snug/internal/setup"
)

// autocasts are the precisions that a plan may switch to.
var autocasts = []string{"amp-bf16", "amp-fp16"}

// loads sets Loads in each setup: how the project's files would load the weights under another precision.
// Replacing bf16 with fp16 may change the type of the weights, leave it, or give a run that PyTorch refuses. If
// flags set the precision or the type of the weights, the files are not consulted.
func (o *optimizeOptions) loads(env Env, t *today, flags map[string]any, list []request) {
	if t.project == nil || flags["precision"] != nil || flags["weights"] != nil {
		return
	}
	for _, r := range list {
		if r.err != nil || r.setup.Model.Program != nil {
			continue
		}
		found := map[string]setup.Loading{}
		for _, precision := range autocasts {
			if l, known := o.loading(env, t, flags, r.setup, precision); known && precision != r.setup.Precision {
				found[precision] = l
			}
		}
		r.setup.Loads = found
	}
}

// loading returns how weights are loaded once a precision is written; false if no file has a key for it.
// The type of the weights is written only if the files would otherwise load another one.
func (o *optimizeOptions) loading(env Env, t *today, flags map[string]any, s *setup.Setup, precision string) (setup.Loading, bool) {
	best := cmp.Or(s.WeightsUnder(precision), "fp32")
	written, alone := o.rewritten(env, t, flags, setup.Assign("precision", precision))
	switch {
	case !written:
		return setup.Loading{}, false
	case alone != nil && alone.Precision == precision && cmp.Or(alone.Weights, "fp32") == best:
		return setup.Loading{Weights: alone.Weights}, true
	}
	_, both := o.rewritten(env, t, flags, setup.Assign("precision", precision).With("weights", best))
	switch {
	case both != nil && both.Precision == precision && cmp.Or(both.Weights, "fp32") == best:
		return setup.Loading{Weights: both.Weights, Say: best}, true
	case alone != nil && alone.Precision == precision:
		return setup.Loading{Weights: alone.Weights}, true
	}
	return setup.Loading{Never: true}, true
}

// rewritten returns the run after settings are written; nil if it could not be started. written reports whether
// the files have keys for them.
func (o *optimizeOptions) rewritten(env Env, t *today, flags map[string]any, want setup.Values) (written bool, s *setup.Setup) {
	p, err := t.project.With(want)
	if err != nil {
		return false, nil
	}
	r, err := all(o.requestsOver(env, lay(flags, o.modeled(env, maps.Clone(p.Fields())))))
	if err != nil || r[0].err != nil {
		return true, nil
	}
	return true, r[0].setup
}
