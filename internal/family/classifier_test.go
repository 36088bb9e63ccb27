// SPDX-License-Identifier: Apache-2.0

package family

import (
	"testing"

	"snug/internal/kernel"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// withHead builds a model with a head from the keys of a config.
func withHead(t *testing.T, head string, keys map[string]any) (*nn.Builder, Model) {
	t.Helper()
	b := &nn.Builder{W: shadow.NewWorld(kernel.Rules{Torch: 211}), DType: shadow.Float32}
	m, err := New(b, NewConfig(keys), Run{Shape: &Shape{Batch: 4, Seq: 16, Choices: 2}, Head: head, Attention: "sdpa", Mask: true})
	if err != nil {
		t.Fatal(err)
	}
	return b, m
}

// TestClassifierParameters compares the parameter counts with those of transformers 5.17.
func TestClassifierParameters(t *testing.T) {
	roberta := map[string]any{"model_type": "roberta", "max_position_embeddings": 514.0, "type_vocab_size": 1.0}
	for _, x := range []struct {
		config       map[string]any
		texts, token int
	}{
		{map[string]any{"model_type": "bert"}, 109_483_778, 108_893_186},
		{map[string]any{"model_type": "bert", "num_labels": 5.0}, 109_486_085, 108_895_493},
		{map[string]any{"model_type": "bert", "id2label": map[string]any{"0": "a", "1": "b", "2": "c", "3": "d", "4": "e"}}, 109_486_085, 108_895_493},
		{roberta, 124_647_170, 124_056_578},
		{map[string]any{"model_type": "distilbert"}, 66_955_010, 66_364_418},
		{map[string]any{"model_type": "modernbert"}, 149_606_402, 149_606_402},
		{map[string]any{"model_type": "mpnet"}, 109_486_466, 108_895_874},
	} {
		for head, want := range map[string]int{SequenceClassification: x.texts, TokenClassification: x.token} {
			b, _ := withHead(t, head, x.config)
			got := 0
			for _, p := range b.Parameters() {
				got += p.Numel()
			}
			if got != want {
				t.Errorf("%v as %s: %d parameters, want %d", x.config["model_type"], head, got, want)
			}
		}
	}
}

// TestClassifierGradients runs each head forward and backward with each kind of problem, and checks that every
// parameter gets a gradient.
func TestClassifierGradients(t *testing.T) {
	for _, modelType := range []string{"bert", "roberta", "distilbert", "modernbert", "mpnet", "electra", "albert"} {
		for _, more := range []map[string]any{
			{}, {"num_labels": 1.0}, {"problem_type": "multi_label_classification"}, {"problem_type": "regression", "num_labels": 3.0},
			{"classifier_pooling": "mean"}, {"classifier_dropout": 0.3},
		} {
			for _, head := range []string{SequenceClassification, TokenClassification, QuestionAnswering, MultipleChoice} {
				if head == QuestionAnswering && more["num_labels"] != nil {
					continue
				}
				keys := map[string]any{}
				for k, v := range small(modelType).keys {
					keys[k] = v
				}
				for k, v := range more {
					keys[k] = v
				}
				b, m := withHead(t, head, keys)
				batch := m.Batch()
				loss := m.Loss(batch).Hold()
				if loss.Numel() != 1 {
					t.Errorf("%s as %s with %v: the loss is %v", modelType, head, more, loss)
				}
				loss.Backward()
				for _, p := range b.Parameters() {
					if p.Grad() == nil {
						t.Errorf("%s as %s with %v: %s has no gradient", modelType, head, more, p.Name())
					}
				}
			}
		}
	}
}

// TestClassLabels checks that a batch's labels are classes, numbers, or one number for each class.
func TestClassLabels(t *testing.T) {
	for _, x := range []struct {
		head  string
		keys  map[string]any
		dtype shadow.DType
		size  []int
	}{
		{SequenceClassification, nil, shadow.Int64, []int{4}},
		{SequenceClassification, map[string]any{"num_labels": 1.0}, shadow.Float32, []int{4}},
		{SequenceClassification, map[string]any{"problem_type": "multi_label_classification", "num_labels": 3.0}, shadow.Float32, []int{4, 3}},
		{TokenClassification, nil, shadow.Int64, []int{4, 16}},
		{QuestionAnswering, nil, shadow.Int64, []int{4}},
		{MultipleChoice, nil, shadow.Int64, []int{2}},
		{SequenceClassification, map[string]any{"model_type": "llama", "num_labels": 1.0}, shadow.Float32, []int{4}},
	} {
		keys := map[string]any{"model_type": "bert", "num_hidden_layers": 1.0}
		for k, v := range x.keys {
			keys[k] = v
		}
		_, m := withHead(t, x.head, keys)
		got := m.Batch().Labels
		if got.DType() != x.dtype || len(got.Sizes()) != len(x.size) || got.Size(0) != x.size[0] || got.Size(-1) != x.size[len(x.size)-1] {
			t.Errorf("%s with %v: labels %v, want %v %v", x.head, x.keys, got, x.dtype, x.size)
		}
	}
}

// TestClassifierRefusals checks that values not supported by transformers are refused.
func TestClassifierRefusals(t *testing.T) {
	for key, value := range map[string]any{"problem_type": "ranking", "classifier_pooling": "max", "num_labels": 0.0} {
		b := &nn.Builder{W: shadow.NewWorld(kernel.Rules{Torch: 211}), DType: shadow.Float32}
		config := NewConfig(map[string]any{"model_type": "modernbert", "num_hidden_layers": 1.0, key: value})
		if _, err := New(b, config, Run{Shape: &Shape{Batch: 4, Seq: 16}, Head: SequenceClassification, Attention: "sdpa"}); err == nil {
			t.Errorf("%s %v is accepted", key, value)
		}
	}
	b := &nn.Builder{W: shadow.NewWorld(kernel.Rules{Torch: 211}), DType: shadow.Float32}
	three := NewConfig(map[string]any{"model_type": "bert", "num_hidden_layers": 1.0, "num_labels": 3.0})
	if _, err := New(b, three, Run{Shape: &Shape{Batch: 4, Seq: 16}, Head: QuestionAnswering, Attention: "sdpa"}); err == nil {
		t.Error("an answer with three labels is accepted")
	}
}
