// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newGemma1 makes the first Gemma: Llama with scaled embeddings, norms that add one to their weight, and a gated
// MLP with GELU (transformers/models/gemma/modular_gemma.py).
func newGemma1(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 3072, layers: 28, heads: 16, kv: 16, inter: 24576, vocab: 256000})
	s.dim = c.Positive("head_dim", 256)
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	c.refuse("use_bidirectional_attention")
	act := c.activation("hidden_act", "gelu_pytorch_tanh")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout = c.Float("attention_dropout", 0)
		return &llamaLayer{
			Path: shadow.Path(at), attn: attn,
			mlp:       newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act),
			inputNorm: newGemma2Norm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newGemma2Norm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.embed.Scale = b.Buffer(b.DType)
	m.norm = newGemma2Norm(b, run, run.at("norm"), s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, true)
	return m, nil
}
