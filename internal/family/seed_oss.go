// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newSeedOSS makes Seed-OSS: Llama with biases for queries, keys and values, and with dropout
// (transformers/models/seed_oss/modeling_seed_oss.py).
func newSeedOSS(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 64, heads: 80, kv: 8, inter: 27648, vocab: 155136})
	if !c.Has("head_dim") {
		s.dim = 128
	}
	s.qkvBias, s.oBias = c.Bool("attention_bias", true), c.Bool("attention_out_bias", false)
	s.mlpBias = c.Bool("mlp_bias", false)
	act := c.activation("hidden_act", "silu")
	residual := nn.Dropout(c.Float("residual_dropout", 0.1))
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.outDrop = c.Float("attention_dropout", 0.1), residual
		return &llamaLayer{
			Path: shadow.Path(at), attn: attn,
			mlp:       &droppedMLP{newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, s.mlpBias, act), residual},
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

// droppedMLP is SeedOssMLP: Llama's, followed by dropout.
type droppedMLP struct {
	*llamaMLP
	dropout nn.Dropout
}

// Forward is the module's forward.
func (m *droppedMLP) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	down := fn.Let(m.llamaMLP.Forward(fn, x))
	fn.Set(&down, m.dropout.Call(down))
	return down
}
