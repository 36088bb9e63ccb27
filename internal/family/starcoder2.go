// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newStarcoder2 makes StarCoder2: Mistral with biases, layer norms, dropouts and an MLP of two products
// (transformers/models/starcoder2/modular_starcoder2.py).
func newStarcoder2(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 3072, layers: 30, heads: 24, kv: 2, inter: 12288, vocab: 49152})
	s.qkvBias = c.Bool("use_bias", true)
	s.oBias = s.qkvBias
	window := c.window(0)
	s.masks = sameWindow(s.layers, window)
	drop := nn.Dropout(c.Float("residual_dropout", 0))
	act := c.activation("hidden_act", "gelu_pytorch_tanh")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.window, attn.outDrop = c.Float("attention_dropout", 0), window, drop
		return &llamaLayer{
			Path: shadow.Path(at), attn: attn,
			mlp: &starcoder2MLP{
				Path: shadow.Path(at + ".mlp"), act: act, drop: drop,
				cFC:   b.Linear(at+".mlp.c_fc", s.hidden, s.inter, s.qkvBias),
				cProj: b.Linear(at+".mlp.c_proj", s.inter, s.hidden, s.qkvBias),
			},
			inputNorm: b.LayerNorm(at+".input_layernorm", s.hidden, true),
			postNorm:  b.LayerNorm(at+".post_attention_layernorm", s.hidden, true),
		}
	})
	m.embedDrop = nn.Dropout(c.Float("embedding_dropout", 0))
	m.norm = b.LayerNorm("model.norm", s.hidden, true)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, true)
	return m, nil
}

type starcoder2MLP struct {
	shadow.Path
	cFC, cProj *nn.Linear
	act        activation
	drop       nn.Dropout
}

func (m *starcoder2MLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.cFC.Call(hidden))
	fn.Set(&hidden, m.act(hidden))
	fn.Set(&hidden, m.cProj.Call(hidden))
	fn.Set(&hidden, m.drop.Call(hidden))
	return hidden
}
