// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newTokenClassifier makes the head of BERT, which other families share: a linear layer after a dropout. Question
// answering has no dropout.
func newTokenClassifier(b *nn.Builder, c *Config, hidden int, dropout nn.Dropout, run Run) *classifier {
	s := &tokenScorer{dropout: dropout, pooled: scoresTexts(run.Head)}
	if run.Head == QuestionAnswering {
		s.dropout = 0
		s.out = b.Linear("qa_outputs", hidden, c.classes(run), true)
	} else {
		s.out = b.Linear("classifier", hidden, c.classes(run), true)
	}
	return newClassifier(c, run, s)
}

// newRobertaClassifier makes the head of RoBERTa or MPNet. MPNet's always uses the layers' dropout, as does multiple
// choice.
func newRobertaClassifier(b *nn.Builder, c *Config, cfg bertConfig, dropout nn.Dropout, run Run) *classifier {
	switch run.Head {
	case SequenceClassification:
		return newClassifier(c, run, newFirstScorer(b, cfg.hidden, c.labels(), dropout))
	case MultipleChoice:
		dropout = nn.Dropout(cfg.dropout)
	}
	return newTokenClassifier(b, c, cfg.hidden, dropout, run)
}

// distilScorer is the head of a DistilBERT that scores texts: pre_classifier applied to the first token.
type distilScorer struct {
	dense, out *nn.Linear
	dropout    nn.Dropout
}

// newDistilClassifier makes the head of a DistilBERT that scores texts or tokens.
func newDistilClassifier(b *nn.Builder, c *Config, dim int, m *distilBert) *classifier {
	switch m.run.Head {
	case TokenClassification:
		return newTokenClassifier(b, c, dim, m.dropout, m.run)
	case QuestionAnswering:
		return newClassifier(c, m.run, &tokenScorer{dropout: nn.Dropout(c.Float("qa_dropout", 0.1)), out: b.Linear("qa_outputs", dim, c.labels(), true)})
	}
	return newClassifier(c, m.run, &distilScorer{
		dense:   b.Linear("pre_classifier", dim, dim, true),
		out:     b.Linear("classifier", dim, c.classes(m.run), true),
		dropout: nn.Dropout(c.Float("seq_classif_dropout", 0.2)),
	})
}

func (s *distilScorer) logits(fn *shadow.Frame, e encoded) *shadow.Tensor {
	pooled := fn.Let(e.hidden.Select(1, 0)) // (B, H)
	fn.Set(&pooled, s.dense.Call(pooled))
	fn.Set(&pooled, pooled.ReLU())
	fn.Set(&pooled, s.dropout.Call(pooled))
	return s.out.Call(pooled)
}

// modernScorer is ModernBERT's head: its prediction head applied to the first token, the mean of all tokens, or
// each token.
type modernScorer struct {
	head    *modernHead
	dropout nn.Dropout
	out     *nn.Linear
	pooling string // "cls", "mean", "first" (the first token that is not padding), or "" for each token
}

// modernHead is ModernBertPredictionHead.
type modernHead struct {
	shadow.Path
	dense *nn.Linear
	act   activation
	norm  *nn.LayerNorm
}

// newModernClassifier makes the head of a ModernBERT that scores texts or tokens.
func newModernClassifier(b *nn.Builder, c *Config, hidden int, run Run) *classifier {
	s := &modernScorer{
		head: &modernHead{
			Path:  "head",
			dense: b.Linear("head.dense", hidden, hidden, c.Bool("classifier_bias", false)),
			act:   c.activation("classifier_activation", "gelu"),
			norm:  b.LayerNorm("head.norm", hidden, c.Bool("norm_bias", false)),
		},
		dropout: c.classDropout(0),
		out:     b.Linear("classifier", hidden, c.classes(run), true),
	}
	if scoresTexts(run.Head) {
		s.pooling = c.String("classifier_pooling", "cls")
		if s.pooling != "cls" && s.pooling != "mean" {
			c.fail("classifier_pooling", "cls or mean")
		}
	}
	if run.Head == MultipleChoice && s.pooling == "cls" {
		s.pooling = "first"
	}
	return newClassifier(c, run, s)
}

// Forward is the module's forward.
func (h *modernHead) Forward(_ *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	return h.norm.Call(h.act(h.dense.Call(hidden)))
}

func (s *modernScorer) logits(fn *shadow.Frame, e encoded) *shadow.Tensor {
	hidden := fn.Let(e.hidden)
	switch s.pooling {
	case "cls":
		fn.Set(&hidden, hidden.Select(1, 0)) // (B, H)
	case "first":
		fn.Set(&hidden, firstOf(fn, hidden, e.mask))
	case "mean":
		fn.Set(&hidden, meanOf(fn, hidden, e.mask))
	}
	w := hidden.World()
	if s.pooling == "" {
		fn.Set(&hidden, w.Call(s.head, hidden))
		fn.Set(&hidden, s.dropout.Call(hidden))
		return s.out.Call(hidden)
	}
	pooled := fn.Let(w.Call(s.head, hidden))
	fn.Set(&pooled, s.dropout.Call(pooled))
	return s.out.Call(pooled)
}

// firstOf returns the first unmasked token of each text, or the first token without a mask.
func firstOf(fn *shadow.Frame, hidden, mask *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	rows := fn.Let(w.Arange(hidden.Size(0)))
	if mask == nil {
		fn.Let(w.Full(shadow.Int64))                // a tensor with the position 0, which is read back
		return hidden.Select(1, 0).IndexAt(0, rows) // (B, H)
	}
	first := fn.Let(mask.Argmax(false, -1))
	return hidden.IndexAt(0, rows, first)
}

// meanOf returns the mean of the unmasked tokens. Without a mask it makes one and binds it to a variable.
func meanOf(fn *shadow.Frame, hidden, mask *shadow.Tensor) *shadow.Tensor {
	if mask == nil {
		mask = fn.Let(hidden.World().Full(shadow.Bool, hidden.Size(0), hidden.Size(1)))
	}
	total := hidden.Mul(mask.Unsqueeze(-1)).Sum(false, 1) // (B, H)
	return total.Div(mask.Sum(true, 1))
}
