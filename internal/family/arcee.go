// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newArcee makes Arcee's AFM: Llama with the MLP of Nemotron (transformers/models/arcee/modular_arcee.py).
func newArcee(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 2560, layers: 32, heads: 32, inter: 18432, vocab: 32000})
	s.qkvBias, s.mlpBias = c.Bool("attention_bias", false), c.Bool("mlp_bias", false)
	s.oBias = s.qkvBias
	act := c.activation("hidden_act", "relu2")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout = c.Float("attention_dropout", 0)
		return &llamaLayer{
			Path: shadow.Path(at), attn: attn, mlp: newNemotronMLP(b, at+".mlp", s, act),
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}
