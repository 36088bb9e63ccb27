// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"

	"snug/internal/family"
	"snug/internal/script"
	"snug/internal/setup"
	"snug/internal/shadow"
)

// evaluates reports whether the run has snug's own evaluation. It has none if each GPU holds only a part of the
// weights, where evaluation is not simulated, or if a script is followed, which has its own.
func (r *run) evaluates() bool {
	return r.s.Evaluation != nil && r.s.EvaluatesWhole() && r.calling == nil && r.script == nil
}

// evaluate runs an evaluation in its own function: model.eval(), and under no_grad a forward pass for each
// batch. It may keep the logits in a list.
func (r *run) evaluate() {
	e, was := r.s.Evaluation, *r.shape
	r.mark(Evaluation, "evaluation")
	r.shape.Batch = r.s.EvaluationBatch() * r.s.Rows()
	if r.tokens != nil {
		r.shape.Seq = slices.Max(slices.Concat(r.tokens...))
	}
	r.w.Eval = true
	back := r.w.NoGrad()
	var kept []*shadow.Tensor
	for range e.BatchCount() {
		r.checkCanceled()
		if logits := r.predict(e.KeepsLogits); logits != nil {
			kept = append(kept, logits)
		}
	}
	for _, logits := range kept {
		logits.Drop()
	}
	back()
	r.w.Eval = false
	*r.shape = was
}

// predict runs one forward pass of an evaluation; the caller owns the logits it returns.
func (r *run) predict(keeps bool) *shadow.Tensor {
	var out family.Outputs
	if keeps {
		r.keeping.Keep = &out
	}
	b := r.model.Batch()
	r.w.Autocast(autocastType(r.s.Precision), func() {
		out.Loss = r.lossOf(b).Hold()
	})
	r.keeping.Keep = nil
	if out.Logits != nil {
		r.s.Evaluation.Learn(out.Logits.Bytes())
	}
	out.Loss.Drop()
	out.Encoded.Drop()
	for _, t := range out.Cache {
		t.Drop()
	}
	b.Drop()
	return out.Logits
}

// evaluation returns the setup's evaluation for a loop known by name. If no evaluation is due within the
// simulated steps, one runs after the last of them.
func evaluation(s *setup.Setup) script.Evaluating {
	e := s.Evaluation
	if e == nil {
		return script.Evaluating{}
	}
	every := e.Every
	if every == 0 || every > s.Steps {
		every = s.Steps
	}
	return script.Evaluating{Batch: s.EvaluationBatch(), Batches: e.BatchCount(), Every: every, KeepsLogits: e.KeepsLogits}
}

// afterSteps trains one more step if the run ends with an evaluation, because that step has to use the memory
// that the evaluation left in the cache.
func (r *run) afterSteps() {
	if r.evaluates() && r.s.EvaluatesAfter(r.s.Steps-1) {
		r.step(false)
	}
}
