// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// The heads of transformers' ForSequenceClassification, ForTokenClassification, ForQuestionAnswering and
// ForMultipleChoice.

// classifier assigns classes to texts, or to each of their tokens.
type classifier struct {
	problem
	score scorer
}

// problem is what a classifier learns.
type problem struct {
	labels int
	name   string // problem_type in the config; if "", the labels determine it
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

// Classifies reports whether a head assigns scores to texts or tokens.
func Classifies(head string) bool {
	switch head {
	case SequenceClassification, TokenClassification, QuestionAnswering, MultipleChoice:
		return true
	}
	return false
}

// scoresTexts reports whether a head assigns scores to whole texts.
func scoresTexts(head string) bool { return head == SequenceClassification || head == MultipleChoice }

// classes returns how many scores the head computes: one for each choice of a multiple-choice model, otherwise one
// for each label.
func (c *Config) classes(run Run) int {
	if run.Head == MultipleChoice {
		return 1
	}
	return c.labels()
}

func newClassifier(c *Config, run Run, s scorer) *classifier {
	k := &classifier{problem: c.problem(run), score: s}
	if run.Head == QuestionAnswering && k.labels != 2 {
		c.fail("num_labels", "2, the start and the end of an answer")
	}
	switch k.name {
	case "", "regression", "single_label_classification", "multi_label_classification":
	default:
		c.fail("problem_type", "regression, single_label_classification or multi_label_classification")
	}
	return k
}

// problem reads what a head learns.
func (c *Config) problem(run Run) problem {
	if !Classifies(run.Head) {
		return problem{}
	}
	return problem{labels: c.classes(run), name: c.String("problem_type", "")}
}

// classLoss is the forward of a classification model after its encoder. The encoder's outputs live until it
// returns.
func (n net) classLoss(k *classifier, e encoded, b Batch) *shadow.Tensor {
	fn := n.w.Func(e.hidden, e.pooled)
	n.run.Calling.tieState(e.hidden)
	logits := fn.Let(k.score.logits(fn, e))
	switch n.run.Head {
	case QuestionAnswering:
		return fn.Return(answerLoss(fn, logits, b, n.run.Calling))
	case MultipleChoice:
		logits = fn.Let(logits.View(-1, n.run.Choices))
	}
	n.run.Calling.keepLogits(logits)
	switch {
	case b.Labels == nil:
		return fn.Return(nil)
	case n.run.Head == TokenClassification:
		return fn.Return(maskedLoss(logits, b.Labels, k.labels))
	case n.run.Head == MultipleChoice:
		return fn.Return(logits.CrossEntropy(b.Labels))
	}
	return fn.Return(k.loss(logits, b.Labels))
}

// answerLoss is the end of a ForQuestionAnswering.forward, from the logits (B, S, 2): the mean of the losses of the
// first and of the last token. fn is the forward's frame.
func answerLoss(fn *shadow.Frame, logits *shadow.Tensor, b Batch, how *Calling) *shadow.Tensor {
	parts := logits.Split(-1, 1, 1)
	start, end := fn.Let(parts[0]), fn.Let(parts[1])
	fn.Set(&start, start.Squeeze(-1).Contiguous()) // (B, S)
	fn.Set(&end, end.Squeeze(-1).Contiguous())
	how.keepAnswers(start, end)
	if b.Labels == nil || b.Ends == nil {
		return nil
	}
	starts := fn.Let(b.Labels.Clamp())
	ends := fn.Let(b.Ends.Clamp())
	startLoss := fn.Let(start.CrossEntropy(starts))
	endLoss := fn.Let(end.CrossEntropy(ends))
	return startLoss.Add(endLoss).DivScalar()
}

// loss returns the loss for texts, which depends on the kind of problem.
func (k problem) loss(logits, labels *shadow.Tensor) *shadow.Tensor {
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
func (k problem) kind(of shadow.DType) string {
	switch {
	case k.name != "":
		return k.name
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
func (n net) classLabels(k problem) *shadow.Tensor {
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
