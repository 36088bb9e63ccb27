// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"snug/internal/setup"
)

// Formulas that other tools use instead of a simulation. Each is implemented from its published form, so that it can be
// compared with the same measurements.

// peer is one formula: it returns the bytes for a setup with this many parameters, or 0 if it does not apply.
type peer struct {
	name    string
	formula string
	bytes   func(s *setup.Setup, params, trainable float64) float64
}

var peers = []peer{
	{"accelerate estimate-memory", "parameters × bytes × 4 (weights, gradients, two moments)", fourTimes},
	{"DeepSpeed ZeRO estimator", "4 × parameters + 16 × parameters ÷ GPUs", zero2},
	{"Megatron activations", "states + s·b·h·L·(34 + 5·a·s÷h)", megatron},
	{"EleutherAI transformer math", "weights + gradients + optimizer + s·b·h·L·(10 + 24 + 5·a·s÷h)", transformerMath},
}

// fourTimes is the rule of `accelerate estimate-memory`: training with Adam takes four times the weights in the type
// they are loaded in. It ignores activations, as its own documentation says.
func fourTimes(s *setup.Setup, params, _ float64) float64 {
	return 4 * params * weightBytes(s)
}

// zero2 is estimate_zero2_model_states_mem_needs without offloading: 16-bit weights and gradients on every GPU, and
// 16 bytes of fp32 states per parameter, divided among the GPUs.
func zero2(s *setup.Setup, params, _ float64) float64 {
	return 4*params + 16*params/float64(s.Dist.World())
}

// megatron is the activation formula of Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
// Models" (2022), equation 2, without parallelism: every layer keeps s·b·h·(34 + 5·a·s/h) bytes, or only its input,
// 2·s·b·h, if it is recomputed. The states of this setup are added: weights, gradients and two moments in the type of
// the weights.
func megatron(s *setup.Setup, params, trainable float64) float64 {
	t, ok := shapeOf(s)
	if !ok {
		return 0
	}
	act := t.sbh * (34 + 5*t.heads*t.seq/t.hidden)
	if s.Checkpointing {
		act = 2 * t.sbh
	}
	return weightBytes(s)*(params+3*trainable) + t.layers*act
}

// transformerMath is EleutherAI's "Transformer Math 101" (calc_transformer_mem): mixed precision has 2 bytes of
// weights, 4 of gradients and 12 of optimizer states per parameter, and fp32 has 4, 4 and 8; activations are
// s·b·h·L·(10 + 24/t + 5·a·s/(h·t)) with t = 1, or 2·s·b·h·L if recomputed.
func transformerMath(s *setup.Setup, params, trainable float64) float64 {
	t, ok := shapeOf(s)
	if !ok {
		return 0
	}
	states := 2*params + (4+12)*trainable
	if s.Precision == "fp32" {
		states = 4*params + (4+8)*trainable
	}
	act := t.sbh * (10 + 24 + 5*t.heads*t.seq/t.hidden)
	if s.Checkpointing {
		act = 2 * t.sbh
	}
	return states + t.layers*act
}

func weightBytes(s *setup.Setup) float64 {
	if s.Precision == "bf16" || s.Precision == "fp16" {
		return 2
	}
	return 4
}

// shape has the sizes of a model that the formulas for transformers need.
type shape struct{ sbh, seq, hidden, heads, layers float64 }

// shapeOf returns the shape of a model with a config, and false for other models.
func shapeOf(s *setup.Setup) (shape, bool) {
	c := s.Model.Config
	d := s.Model.Dims()
	if c == nil || d.Hidden == 0 {
		return shape{}, false
	}
	t := shape{
		seq:    float64(s.Seq),
		hidden: first(c, d.Hidden, "hidden_size", "n_embd", "d_model", "dim"),
		heads:  first(c, d.Heads, "num_attention_heads", "n_head", "num_heads", "n_heads"),
		layers: first(c, d.Layers, "num_hidden_layers", "n_layer", "num_layers", "n_layers"),
	}
	t.sbh = t.seq * float64(s.Batch*(1+s.Positives+s.Negatives)) * t.hidden
	return t, t.hidden > 0 && t.heads > 0 && t.layers > 0
}

func first(config map[string]any, otherwise int, keys ...string) float64 {
	for _, k := range keys {
		if v, ok := config[k].(float64); ok {
			return v
		}
	}
	return float64(otherwise)
}
