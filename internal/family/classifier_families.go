// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newBertClassifier makes the head of BertForSequenceClassification or BertForTokenClassification.
func newBertClassifier(b *nn.Builder, c *Config, cfg bertConfig, run Run) *classifier {
	return newClassifier(c, &tokenScorer{
		dropout: c.classDropout(cfg.dropout),
		out:     b.Linear("classifier", cfg.hidden, c.labels(), true),
		pooled:  run.Head == SequenceClassification,
	})
}

// newRobertaClassifier makes the classification head of RoBERTa or MPNet. MPNet's always uses the dropout of the
// layers.
func newRobertaClassifier(b *nn.Builder, c *Config, hidden int, dropout nn.Dropout, run Run) *classifier {
	if run.Head == SequenceClassification {
		return newClassifier(c, newFirstScorer(b, hidden, c.labels(), dropout))
	}
	return newClassifier(c, &tokenScorer{dropout: dropout, out: b.Linear("classifier", hidden, c.labels(), true)})
}

// distilScorer is the head of DistilBertForSequenceClassification: pre_classifier applied to the first token.
type distilScorer struct {
	dense, out *nn.Linear
	dropout    nn.Dropout
}

// newDistilClassifier makes the head of DistilBertForSequenceClassification or
// DistilBertForTokenClassification.
func newDistilClassifier(b *nn.Builder, c *Config, dim int, m *distilBert) *classifier {
	if m.run.Head == TokenClassification {
		return newClassifier(c, &tokenScorer{dropout: m.dropout, out: b.Linear("classifier", dim, c.labels(), true)})
	}
	return newClassifier(c, &distilScorer{
		dense:   b.Linear("pre_classifier", dim, dim, true),
		out:     b.Linear("classifier", dim, c.labels(), true),
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
	pooling string // "cls", "mean", or "" for each token
}

// modernHead is ModernBertPredictionHead.
type modernHead struct {
	shadow.Path
	dense *nn.Linear
	act   activation
	norm  *nn.LayerNorm
}

// newModernClassifier makes the head of ModernBertForSequenceClassification or
// ModernBertForTokenClassification.
func newModernClassifier(b *nn.Builder, c *Config, hidden int, run Run) *classifier {
	s := &modernScorer{
		head: &modernHead{
			Path:  "head",
			dense: b.Linear("head.dense", hidden, hidden, c.Bool("classifier_bias", false)),
			act:   c.activation("classifier_activation", "gelu"),
			norm:  b.LayerNorm("head.norm", hidden, c.Bool("norm_bias", false)),
		},
		dropout: c.classDropout(0),
		out:     b.Linear("classifier", hidden, c.labels(), true),
	}
	if run.Head == SequenceClassification {
		s.pooling = c.String("classifier_pooling", "cls")
		if s.pooling != "cls" && s.pooling != "mean" {
			c.fail("classifier_pooling", "cls or mean")
		}
	}
	return newClassifier(c, s)
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

// meanOf returns the mean of the unmasked tokens. Without a mask it makes one and binds it to a variable.
func meanOf(fn *shadow.Frame, hidden, mask *shadow.Tensor) *shadow.Tensor {
	if mask == nil {
		mask = fn.Let(hidden.World().Full(shadow.Bool, hidden.Size(0), hidden.Size(1)))
	}
	total := hidden.Mul(mask.Unsqueeze(-1)).Sum(false, 1) // (B, H)
	return total.Div(mask.Sum(true, 1))
}
