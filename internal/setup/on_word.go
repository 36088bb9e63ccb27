// SPDX-License-Identifier: Apache-2.0

package setup

import "strings"

// onWord notes what a setup says of a recorded run that its profile does not
// tell. Config files say such things whether anybody asks or not, so that it is
// no mistake; but no figure depends on it.
func (s *Setup) onWord(o *object, p Recorded) {
	class := optimizerOf(p.Optimizer) != ""
	for _, f := range []struct {
		field string
		told  bool
	}{
		{"model.head", false},
		{"precision", p.Precision != ""},
		{"weights", p.Precision != ""},
		{"optimizer", class},
		{"checkpointing", p.Checkpointing != nil},
		{"loss", false},
		{"liger", false},
		{"attention", false},
		{"attention_mask", false},
		{"clip", false},
		{"lora", false},
		{"quantization", false},
		{"dist.param_dtype", false},
		{"dist.reduce_dtype", false},
		{"dist.load", false},
		{"dist.bucket_view", max(p.World, 1) == 1}, // the buckets are counted on top
		{"versions.transformers", false},
		{"versions.cuda", false},
		{"versions.bitsandbytes", false},
		{"steps", false},
	} {
		if o.has(f.field) && !f.told {
			s.OnWord = append(s.OnWord, f.field)
		}
	}
	if class && o.has("optimizer") && plainOptimizer(s.Optimizer) != s.Optimizer {
		s.OnWord = append(s.OnWord, optimizerVariant)
	}
}

// optimizerVariant is what the class of an optimizer does not tell: adamw or
// adamw-fused, sgd or sgd-momentum.
const optimizerVariant = "the optimizer's variant"

// has says whether a field is given, or one of an object: "versions.cuda".
func (o *object) has(field string) bool {
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		return o.keys[field] != nil
	}
	keys, _ := o.keys[outer].(map[string]any)
	return keys[inner] != nil
}

// AsRecorded is the setup without what is there on the user's word alone: what
// may stand over its figures.
func (s *Setup) AsRecorded() *Setup {
	t := *s
	for _, field := range s.OnWord {
		switch field {
		case "seq":
			t.Seq = 0
		case "target_seq":
			t.TargetSeq = 0
		case "positives":
			t.Positives = 0
		case "negatives":
			t.Negatives = 0
		case "precision":
			t.Precision = ""
		case "optimizer":
			t.Optimizer = ""
		case optimizerVariant:
			t.Optimizer = plainOptimizer(s.Optimizer)
		case "checkpointing":
			t.Checkpointing = false
		case "loss":
			t.Loss = ""
		case "liger":
			t.Liger = nil
		case "attention":
			t.Attention = ""
		case "clip":
			t.Clip = false
		case "lora":
			t.LoRA = nil
		case "quantization":
			t.Quantization = nil
		}
	}
	return &t
}
