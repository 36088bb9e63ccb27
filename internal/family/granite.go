// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newGranite makes Granite: Llama with scaled embeddings, residuals and logits
// (transformers/models/granite/modular_granite.py).
func newGranite(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 32, inter: 11008, vocab: 32000})
	s.qkvBias, s.mlpBias = c.Bool("attention_bias", false), c.Bool("mlp_bias", false)
	s.oBias = s.qkvBias
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout = c.Float("attention_dropout", 0)
		return &graniteLayer{
			Path: shadow.Path(at), attn: attn,
			mlp:       newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, s.mlpBias, act),
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.scaled = true
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	m.head.scaled = true
	return m, nil
}

type graniteLayer struct {
	shadow.Path
	attn                *llamaAttention
	mlp                 shadow.Module
	inputNorm, postNorm *rmsNorm
}

func (l *graniteLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.inputNorm.Call(hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, residual.Add(hidden.MulScalar()))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.postNorm.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, residual.Add(hidden.MulScalar()))
	return hidden
}
