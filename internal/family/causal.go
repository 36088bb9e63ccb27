// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// causalHead is the end of a decoder in training: lm_head and the next-token loss. An encoder has only an
// embedding model's loss. Other losses are in causal_chunked.go, causal_trl.go and liger.go; older releases of
// transformers are in causal_releases.go.
type causalHead struct {
	lm      *nn.Linear // nil for an encoder
	vocab   int
	softcap bool // Gemma caps its logits with a tanh
	scaled  bool // logits are multiplied by a number
	chunks  int  // number of pieces in which the loss is computed; 0 and 1 mean all at once
	trl     bool // computed as in TRL
	liger   bool // computed as in Liger
	path    lossPath
	calling *Calling
	rows    int         // rows per sample of an embedding model; see Run.Rows
	classes *classifier // for a model that classifies texts or tokens; nil for any other
	tokens  *tokenHead  // for a model that classifies tokens; nil for any other
}

// newCausalHead makes lm_head, which may share the embedding's weight. tied is the family's default if the config
// does not specify it.
func newCausalHead(b *nn.Builder, c *Config, run Run, width int, embed *nn.Embedding, tied bool) *causalHead {
	return newBiasedHead(b, c, run, width, embed, tied, false)
}

// newBiasedHead makes an lm_head that may have a bias.
func newBiasedHead(b *nn.Builder, c *Config, run Run, width int, embed *nn.Embedding, tied, bias bool) *causalHead {
	h := newHead(b, c, run, width, embed.Weight.Size(0), bias)
	if h.lm != nil && c.Bool("tie_word_embeddings", tied) {
		tieDecoder(b, h.lm, embed)
	}
	return h
}

// newHead makes an lm_head with its own weight, or the run's other head.
func newHead(b *nn.Builder, c *Config, run Run, width, vocab int, bias bool) *causalHead {
	h := &causalHead{vocab: vocab, chunks: run.LossChunks, trl: run.Loss == "trl", liger: run.Loss == "liger", path: run.lossPath(), calling: run.Calling, rows: run.Rows()}
	switch run.Head {
	case Encoder:
	case SequenceClassification:
		h.classes = newClassifier(c, run, &lastScorer{b.Linear("score", width, c.labels(), false)})
	case TokenClassification:
		h.classes, h.tokens = newTagger(b, c, run, width), &run.tokens
	default:
		h.lm = b.Linear("lm_head", width, vocab, bias)
	}
	return h
}

// capped applies the ops after lm_head to the logits, a variable of fn.
func (h *causalHead) capped(fn *shadow.Frame, logits **shadow.Tensor) {
	if h.scaled {
		fn.Set(logits, (*logits).MulScalar())
	}
	if h.softcap {
		fn.Set(logits, (*logits).DivScalar())
		fn.Set(logits, (*logits).Tanh())
		fn.Set(logits, (*logits).MulScalar())
	}
}

// loss is the end of a ForCausalLM.forward: it computes the logits from the last hidden states, and the loss with
// ForCausalLMLoss.
func (h *causalHead) loss(hidden *shadow.Tensor, b Batch) *shadow.Tensor {
	h.calling.tieState(hidden)
	if h.calling.ends(hidden, nil) {
		return nil
	}
	if h.classes != nil {
		return h.classLoss(hidden, b)
	}
	if h.lm == nil {
		if h.calling.keepHidden(hidden) {
			return nil
		}
		return contrastiveLoss(hidden, h.rows)
	}
	defer hidden.World().As(shadow.Logits)()
	if h.trl {
		return h.trlLoss(hidden, b)
	}
	if h.liger && h.withoutLogits(b) {
		return h.ligerLoss(hidden, b)
	}
	if h.chunks > 1 {
		return h.chunkedLoss(hidden, b)
	}
	fn := hidden.World().Func(hidden)
	logits := fn.Let(h.lm.Call(h.scored(hidden))) // (B, S, V)
	h.capped(fn, &logits)
	if h.path.upcast {
		fn.Set(&logits, logits.Float())
	}
	h.calling.keepLogits(logits)
	switch {
	case b.Labels == nil:
		return fn.Return(nil)
	case h.path.own:
		return fn.Return(shiftedLoss(fn, logits, b.Labels, h.vocab, h.path, h.calling))
	}
	return fn.Return(causalLoss(logits, b.Labels, h.vocab, h.path, h.calling))
}

// scored returns the hidden states that get logits: those of all tokens, or of the last one if logits_to_keep is 1.
func (h *causalHead) scored(hidden *shadow.Tensor) *shadow.Tensor {
	if h.calling != nil && h.calling.Last {
		return hidden.Slice(1, hidden.Size(1)-1, hidden.Size(1))
	}
	return hidden.Alias()
}

// withoutLogits reports whether Liger's forward skips the logits: in training with labels, or with lce_forward's
// skip_logits.
func (h *causalHead) withoutLogits(b Batch) bool {
	c := h.calling
	return c == nil || b.Labels != nil && (c.SkipLogits || !h.lm.Weight.World().Eval)
}

// causalLoss is ForCausalLMLoss.
func causalLoss(logits, labels *shadow.Tensor, vocab int, path lossPath, how *Calling) *shadow.Tensor {
	defer logits.World().As(shadow.Logits)()
	fn := logits.World().Func(logits, labels)
	fn.Set(&logits, logits.Float())
	if path.shifted {
		return fn.Return(shiftedLoss(fn, logits, labels, vocab, path, how))
	}
	fn.Set(&labels, labels.Pad(0, 1))
	shift := fn.Let(labels.Slice(-1, 1, labels.Size(-1)).Contiguous())
	fn.Set(&logits, logits.View(-1, vocab))
	fn.Set(&shift, shift.View(-1))
	return fn.Return(how.averaged(logits.CrossEntropy(shift)))
}
