// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// The heads of transformers' ForSequenceClassification and ForTokenClassification.

// classifier assigns classes to texts, or to each of their tokens.
type classifier struct {
	labels  int
	problem string // problem_type in the config; if "", the labels determine it
	score   scorer
}

// scorer is the part of a head that computes logits: (B, labels) for texts, (B, S, labels) for tokens. Its
// variables belong to the model's forward.
type scorer interface {
	logits(fn *shadow.Frame, e encoded) *shadow.Tensor
}

// encoded holds the results of an encoder, and the mask passed to it.
type encoded struct {
	hidden *shadow.Tensor // (B, S, H)
	pooled *shadow.Tensor // (B, H), if the model has a pooler
	mask   *shadow.Tensor
	ids    *shadow.Tensor // the tokens, to find the last one of each text
}

// Classifies reports whether a head assigns classes.
func Classifies(head string) bool {
	return head == SequenceClassification || head == TokenClassification
}

func newClassifier(c *Config, s scorer) *classifier {
	k := &classifier{labels: c.labels(), problem: c.String("problem_type", ""), score: s}
	switch k.problem {
	case "", "regression", "single_label_classification", "multi_label_classification":
	default:
		c.fail("problem_type", "regression, single_label_classification or multi_label_classification")
	}
	return k
}

// classLoss is the forward of a classification model after its encoder. The encoder's outputs live until it
// returns.
func (n net) classLoss(k *classifier, e encoded, labels *shadow.Tensor) *shadow.Tensor {
	fn := n.w.Func(e.hidden, e.pooled)
	n.run.Calling.tieState(e.hidden)
	logits := fn.Let(k.score.logits(fn, e))
	n.run.Calling.keepLogits(logits)
	if labels == nil {
		return fn.Return(nil)
	}
	if n.run.Head == TokenClassification {
		return fn.Return(maskedLoss(logits, labels, k.labels))
	}
	return fn.Return(k.loss(logits, labels))
}

// loss returns the loss for texts, which depends on the kind of problem.
func (k *classifier) loss(logits, labels *shadow.Tensor) *shadow.Tensor {
	switch k.kind(labels.DType()) {
	case "regression":
		if k.labels == 1 {
			logits, labels = squeezed(logits), squeezed(labels)
		}
		return logits.MSELoss(labels, "mean")
	case "multi_label_classification":
		return logits.BCEWithLogits(labels, nil, nil, "mean")
	}
	return maskedLoss(logits, labels, k.labels)
}

// kind returns problem_type, or derives it from the labels.
func (k *classifier) kind(of shadow.DType) string {
	switch {
	case k.problem != "":
		return k.problem
	case k.labels == 1:
		return "regression"
	case of.Floating():
		return "multi_label_classification"
	}
	return "single_label_classification"
}

// squeezed is t.squeeze(): a view without the dimensions of size one.
func squeezed(t *shadow.Tensor) *shadow.Tensor {
	for i := t.Dim() - 1; i >= 0; i-- {
		if t.Size(i) == 1 {
			t = t.Squeeze(i)
		}
	}
	return t
}

// classLabels makes a label for each text: a class, or numbers for a regression or multi-label classification.
func (n net) classLabels(k *classifier) *shadow.Tensor {
	switch k.kind(shadow.Int64) {
	case "regression":
		if k.labels == 1 {
			return n.w.Input(shadow.Float32, n.run.Batch)
		}
		return n.w.Input(shadow.Float32, n.run.Batch, k.labels)
	case "multi_label_classification":
		return n.w.Input(shadow.Float32, n.run.Batch, k.labels)
	}
	return n.w.Input(shadow.Int64, n.run.Batch)
}

// encoderBatch makes token ids, a mask of ones, and labels for the head.
func (n net) encoderBatch(k *classifier) Batch {
	b := n.textBatch()
	if n.run.Head == SequenceClassification {
		b.Labels = n.classLabels(k)
	}
	return b
}

// classDropout reads the key classifier_dropout, or returns other if it is null.
func (c *Config) classDropout(other float64) nn.Dropout {
	return nn.Dropout(c.Float("classifier_dropout", other))
}

// tokenScorer is a dropout and a linear layer, applied to each token or to the pooler's output.
type tokenScorer struct {
	dropout nn.Dropout
	out     *nn.Linear
	pooled  bool
}

func (s *tokenScorer) logits(fn *shadow.Frame, e encoded) *shadow.Tensor {
	of := e.hidden
	if s.pooled {
		of = e.pooled
	}
	return s.out.Call(fn.Let(s.dropout.Call(of)))
}

// firstScorer is RobertaClassificationHead and MPNetClassificationHead: two layers applied to the first token.
type firstScorer struct {
	shadow.Path
	dense, out *nn.Linear
	dropout    nn.Dropout
	act        activation
}

func newFirstScorer(b *nn.Builder, hidden, labels int, dropout nn.Dropout) *firstScorer {
	return &firstScorer{
		Path: "classifier", act: (*shadow.Tensor).Tanh,
		dense:   b.Linear("classifier.dense", hidden, hidden, true),
		dropout: dropout,
		out:     b.Linear("classifier.out_proj", hidden, labels, true),
	}
}

func (s *firstScorer) logits(_ *shadow.Frame, e encoded) *shadow.Tensor {
	return e.hidden.World().Call(s, e.hidden)
}

// Forward is the module's forward.
func (s *firstScorer) Forward(fn *shadow.Frame, features *shadow.Tensor) *shadow.Tensor {
	x := fn.Let(features.Select(1, 0)) // (B, H)
	fn.Set(&x, s.dropout.Call(x))
	fn.Set(&x, s.dense.Call(x))
	fn.Set(&x, s.act(x))
	fn.Set(&x, s.dropout.Call(x))
	fn.Set(&x, s.out.Call(x)) // (B, labels)
	return x
}
