// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newNemotron makes Nemotron: Llama with layer norms whose weights are stored as offsets from one, an MLP of two
// products, and a rotation of half of each head (transformers/models/nemotron/modeling_nemotron.py).
func newNemotron(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 6144, layers: 32, heads: 48, inter: 24576, vocab: 256000})
	s.qkvBias, s.mlpBias = c.Bool("attention_bias", false), c.Bool("mlp_bias", false)
	s.oBias = s.qkvBias
	act := c.activation("hidden_act", "relu2")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.rotate = c.Float("attention_dropout", 0), nemotronRotary
		return &llamaLayer{
			Path: shadow.Path(at), attn: attn,
			mlp:       newNemotronMLP(b, at+".mlp", s, act),
			inputNorm: nemotronNorm{b.LayerNorm(at+".input_layernorm", s.hidden, true)},
			postNorm:  nemotronNorm{b.LayerNorm(at+".post_attention_layernorm", s.hidden, true)},
		}
	})
	m.norm = nemotronNorm{b.LayerNorm("model.norm", s.hidden, true)}
	m.rotary = sharedRotary(b, c, c.rotaryDim(s.dim, "partial_rotary_factor", 0.5))
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

// nemotronRotary is Nemotron's apply_rotary_pos_emb. Both rotated parts live until the function returns.
func nemotronRotary(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	fn.Set(&cos, cos.Unsqueeze(1))
	fn.Set(&sin, sin.Unsqueeze(1))
	d, all := cos.Size(-1), q.Size(-1)
	qRot, qPass := fn.Let(q.Slice(-1, 0, d)), fn.Let(q.Slice(-1, d, all))
	kRot, kPass := fn.Let(k.Slice(-1, 0, d)), fn.Let(k.Slice(-1, d, all))
	qe := fn.Let(qRot.Mul(cos).Add(rotateHalf(qRot).Mul(sin)))
	ke := fn.Let(kRot.Mul(cos).Add(rotateHalf(kRot).Mul(sin)))
	return fn.Return2(shadow.Cat(-1, qe, qPass), shadow.Cat(-1, ke, kPass))
}

// nemotronMLP is NemotronMLP: no gate.
type nemotronMLP struct {
	shadow.Path
	act      activation
	up, down *nn.Linear
}

func newNemotronMLP(b *nn.Builder, at string, s llamaShape, act activation) *nemotronMLP {
	return &nemotronMLP{
		Path: shadow.Path(at), act: act,
		up:   b.Linear(at+".up_proj", s.hidden, s.inter, s.mlpBias),
		down: b.Linear(at+".down_proj", s.inter, s.hidden, s.mlpBias),
	}
}

func (m *nemotronMLP) Forward(_ *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	return m.down.Call(m.act(m.up.Call(x)))
}

// nemotronNorm is NemotronLayerNorm1P: a layer norm in the type that autocast casts to.
type nemotronNorm struct{ *nn.LayerNorm }

// Forward is the module's forward.
func (n nemotronNorm) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	x, weight, bias := castIfAutocast(x, n.Weight.AddScalar(), n.Bias)
	fn.Let(x)
	fn.Let(weight)
	fn.Let(bias)
	var out *shadow.Tensor
	w.Autocast(shadow.None, func() { out = x.LayerNorm(weight, bias) })
	return out
}

// castIfAutocast is _cast_if_autocast_enabled.
func castIfAutocast(x, weight, bias *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor, *shadow.Tensor) {
	fn := x.World().Func(x, weight, bias)
	low := x.World().AutocastType()
	if low == shadow.None {
		return fn.Return3(x, weight, bias)
	}
	return fn.Return3(x.To(low), weight.To(low), bias.To(low))
}
