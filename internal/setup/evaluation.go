// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"fmt"
	"sync/atomic"
)

// Evaluation describes forward passes without gradients between steps.
type Evaluation struct {
	Batch       int  `json:"batch,omitempty"`        // samples per forward pass; 0 means the training batch
	Every       int  `json:"every,omitempty"`        // optimizer steps between evaluations; 0 means one evaluation after the steps
	Batches     int  `json:"batches,omitempty"`      // forward passes per evaluation; 0 means FewBatches
	KeepsLogits bool `json:"keeps_logits,omitempty"` // the logits of all batches stay on the card until the evaluation ends

	logits atomic.Uint64 `json:"-"` // bytes of a batch's logits; 0 until a batch has been simulated
}

// Learn records how many bytes a batch's logits take.
func (e *Evaluation) Learn(logits uint64) { e.logits.Store(logits) }

// Logits returns the bytes of a batch's logits once a batch has been simulated, and 0 before.
func (e *Evaluation) Logits() uint64 { return e.logits.Load() }

// FewBatches is the default number of batches in an evaluation. Unless the evaluation keeps logits, more batches need
// no more memory.
const FewBatches = 4

// BatchCount returns the number of batches in an evaluation.
func (e *Evaluation) BatchCount() int { return cmp.Or(e.Batches, FewBatches) }

// EvaluationBatch returns the number of samples per forward pass of an evaluation.
func (s *Setup) EvaluationBatch() int { return cmp.Or(s.Evaluation.Batch, s.Batch) }

// EvaluatesAfter reports whether an evaluation follows simulated step i: at its interval, or after the last step if
// the interval is longer than the simulation.
func (s *Setup) EvaluatesAfter(i int) bool {
	if e := s.Evaluation; e.Every > 0 && e.Every <= s.Steps {
		return (i+1)%e.Every == 0
	}
	return i == s.Steps-1
}

// EvaluatesWhole reports whether each GPU has all the weights, and so evaluates as it would alone: without
// gradients, DDP and the first stages of ZeRO only run the model.
func (s *Setup) EvaluatesWhole() bool {
	if s.Dist == nil {
		return true
	}
	switch s.DistKind() {
	case DDP, Zero1, Zero1DeepSpeed, Zero2:
		return true
	}
	return false
}

// evaluationPhrase describes the evaluation in a phrase.
func (s *Setup) evaluationPhrase() []string {
	e := s.Evaluation
	if e == nil {
		return nil
	}
	text := fmt.Sprintf("evaluation of %d batches of %d", e.BatchCount(), s.EvaluationBatch())
	if e.KeepsLogits {
		text += " that keeps logits"
	}
	return []string{text}
}

// checkEvaluation does nothing, because no field depends on another.
func (o *object) checkEvaluation(*Setup) {}

// largestBatch returns the number of samples in the largest forward pass, and the field it comes from.
func (s *Setup) largestBatch() (field string, samples int) {
	if s.Evaluation != nil && s.Evaluation.Batch > s.Batch {
		return "evaluation.batch", s.Evaluation.Batch
	}
	return "batch", s.Batch
}

// completeEvaluation returns an error if the script's own evaluation is followed, or if the model has no logits to keep. On several
// GPUs scripts are not followed, so the setting counts.
func (s *Setup) completeEvaluation() error {
	e := s.Evaluation
	switch {
	case e == nil:
		return nil
	case s.Script != nil && s.Script.File != nil && (s.Dist == nil || s.FollowsOverGPUs()):
		return Wrong("{evaluation}: %s has its own evaluation, which is read from it; remove the setting, or use {loop=script}", s.loopName())
	case e.KeepsLogits && s.Model.Head == "encoder":
		return Wrong("{evaluation.keeps_logits}: %s is trained as an encoder, which has no logits; remove it", s.Model.Title())
	}
	return nil
}
