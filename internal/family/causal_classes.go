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
	if e.ids.DType().Floating() {            // inputs_embeds: padding cannot be found, and the last token is used
		rows := w.Arange(B).Hold()
		out := logits.Select(1, S-1).IndexAt(0, rows)
		rows.Drop()
		return out
	}
	words := fn.Let(e.ids.Compare("ne").To(shadow.Int32))
	places := fn.Let(w.Full(shadow.Int32, S))
	last := fn.Let(places.Mul(words).Argmax(false, -1)) // (B)
	return logits.IndexAt(0, w.Arange(B), last)
}

// classLoss is the forward of a decoder that classifies texts or tokens, after the decoder itself.
func (h *causalHead) classLoss(hidden *shadow.Tensor, b Batch) *shadow.Tensor {
	fn := hidden.World().Func(hidden)
	logits := fn.Let(h.classes.score.logits(fn, encoded{hidden: hidden, ids: b.IDs}))
	h.calling.keepLogits(logits)
	switch {
	case b.Labels == nil:
		return fn.Return(nil)
	case h.tokens != nil:
		return fn.Return(h.tokens.loss(logits, b.Labels, h.classes.labels, h.calling))
	}
	return fn.Return(h.classes.loss(logits, b.Labels))
}

// tokenHead describes how a decoder classifies tokens. Most use transformers' GenericForTokenClassification (5.17).
type tokenHead struct {
	own       bool // the class is the model's own
	upcast    bool // the model's own class uses the shared loss, which casts to float32
	undropped bool // hidden_dropout, which is 0 by default, is the dropout before the last layer
}

// layer returns the name of the last layer.
func (t tokenHead) layer() string {
	if t.own {
		return "classifier"
	}
	return "score"
}

// newTagger makes the head: a dropout and a linear layer.
func newTagger(b *nn.Builder, c *Config, run Run, width int) *classifier {
	dropout := 0.1
	if run.tokens.undropped {
		dropout = c.Float("hidden_dropout", 0)
	}
	return newClassifier(c, run, &tokenScorer{dropout: c.classDropout(dropout), out: b.Linear(run.tokens.layer(), width, c.labels(), true)})
}

// loss is transformers' ForTokenClassification, or the loss of the model's own class, which keeps the type of the
// logits.
func (t tokenHead) loss(logits, labels *shadow.Tensor, classes int, how *Calling) *shadow.Tensor {
	if t.own && !t.upcast {
		return maskedLoss(logits, labels, classes)
	}
	fn := logits.World().Func(logits, labels)
	fn.Set(&logits, logits.View(-1, classes))
	fn.Set(&labels, labels.View(-1))
	fn.Set(&logits, logits.Float())
	return fn.Return(how.averaged(logits.CrossEntropy(labels)))
}
