// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// lastScorer is the head of a decoder that classifies texts: it scores every token and uses the last score
// (transformers' GenericForSequenceClassification, 5.17).
type lastScorer struct{ score *nn.Linear }

func (s *lastScorer) logits(fn *shadow.Frame, e encoded) *shadow.Tensor {
	w := e.hidden.World()
	B, S := e.hidden.Size(0), e.hidden.Size(1)
	logits := fn.Let(s.score.Call(e.hidden)) // (B, S, labels)
	words := fn.Let(e.ids.Compare("ne").To(shadow.Int32))
	places := fn.Let(w.Full(shadow.Int32, S))
	last := fn.Let(places.Mul(words).Argmax(false, -1)) // (B)
	return logits.IndexAt(0, w.Arange(B), last)
}

// classLoss is the forward of a decoder with a lastScorer, after the decoder itself.
func (h *causalHead) classLoss(hidden *shadow.Tensor, b Batch) *shadow.Tensor {
	fn := hidden.World().Func(hidden)
	logits := fn.Let(h.classes.score.logits(fn, encoded{hidden: hidden, ids: b.IDs}))
	h.calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(h.classes.loss(logits, b.Labels))
}
