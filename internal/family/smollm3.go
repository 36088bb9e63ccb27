// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newSmolLM3 makes SmolLM3: Llama in which one layer in four ignores positions and may have a sliding window
// (transformers/models/smollm3/modular_smollm3.py).
func newSmolLM3(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 2048, layers: 36, heads: 16, kv: 4, inter: 11008, vocab: 128256})
	s.qkvBias, s.mlpBias = c.Bool("attention_bias", false), c.Bool("mlp_bias", false)
	s.oBias = s.qkvBias
	rotated := c.rotatedLayers(s.layers)
	window := 0
	if c.Bool("use_sliding_window", false) {
		window = c.window(0)
	}
	s.masks = layerMasks{windows: c.layerWindows(s.layers, window, func(i int) bool { return !rotated[i] }), both: true}
	for _, w := range s.masks.windows {
		s.masks.window = max(s.masks.window, w)
	}
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.window, attn.unrotated = c.Float("attention_dropout", 0), s.masks.windows[i], !rotated[i]
		return &llamaLayer{
			Path: shadow.Path(at), attn: attn,
			mlp:       newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, s.mlpBias, act),
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, true)
	return m, nil
}

// rotatedLayers reads no_rope_layers, which has a 0 for each layer that ignores positions.
func (c *Config) rotatedLayers(layers int) []bool {
	out := make([]bool, layers)
	list, every := c.Ints("no_rope_layers"), c.Positive("no_rope_layer_interval", 4)
	if list != nil && len(list) < layers {
		c.fail("no_rope_layers", "a list with one entry for each layer")
		list = nil
	}
	for i := range out {
		out[i] = list != nil && list[i] != 0 || list == nil && (i+1)%every != 0
	}
	return out
}
