// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"

	"snug/internal/shadow/nn"
)

// Qwen2 and Qwen3 are Llama with different biases and, optionally, windows in some
// layers; Qwen3 also normalizes queries and keys
// (transformers/models/qwen2/modular_qwen2.py, qwen3/modular_qwen3.py).

func newQwen2(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := qwenShape(c)
	s.dim = c.headDim(s.hidden, s.heads)
	s.qkvBias = true
	return newDecoder(b, c, run, s), nil
}

func newQwen3(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := qwenShape(c)
	s.dim = c.Positive("head_dim", 128)
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias, s.headNorm = s.qkvBias, true
	return newLlamaLike(b, c, run, s), nil
}

func qwenShape(c *Config) llamaShape {
	s := llamaShape{
		hidden: c.Positive("hidden_size", 4096), layers: c.Int("num_hidden_layers", 32),
		heads: c.Positive("num_attention_heads", 32),
		inter: c.Positive("intermediate_size", 22016), vocab: c.Positive("vocab_size", 151936),
	}
	s.kv = c.kvHeads(s.heads, 32)
	s.masks = qwenMasks(c, s.layers, 28)
	return s
}

// qwenMasks reads which layers have a window: by default, if windows are on, those from max_window_layers on.
func qwenMasks(c *Config, layers, first int) layerMasks {
	window := 0
	if c.Bool("use_sliding_window", false) {
		window = c.window(4096)
	}
	from := c.Int("max_window_layers", first)
	masks := layerMasks{windows: c.layerWindows(layers, window, func(i int) bool { return i >= from }), both: true}
	if slices.Contains(masks.windows, window) {
		masks.window = window
	}
	return masks
}
