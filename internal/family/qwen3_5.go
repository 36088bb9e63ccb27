// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// qwen35 is the text model of Qwen3.5: Qwen3-Next with a plain MLP, separate projections, and positions as for images
// (transformers/models/qwen3_5/modeling_qwen3_5.py).
type qwen35 struct {
	*llama
	rope *multimodalRotary
}

func newQwen35(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 16, kv: 4, inter: 12288, vocab: 248320})
	s.dim = c.Positive("head_dim", 256)
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias, s.masks.recurs = s.qkvBias, true
	linear, delta := c.linearLayers(s.layers), readDelta(c)
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		l := &hybridLayer{Path: shadow.Path(at)}
		if linear[i] {
			l.linear = newQwen35Delta(b, at+".linear_attn", s.hidden, delta, act)
		} else {
			l.attn = newGatedAttention(b, c, m, at+".self_attn", s)
		}
		l.mlp = newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act)
		l.inputNorm = newGemma2Norm(b, run, at+".input_layernorm", s.hidden)
		l.postNorm = newGemma2Norm(b, run, at+".post_attention_layernorm", s.hidden)
		return l
	})
	m.norm = newGemma2Norm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, c.rotaryDim(s.dim, "partial_rotary_factor", 0.25))
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return &qwen35{m, &multimodalRotary{rotary: m.rotary.full, interleaved: true}}, nil
}

// Loss is Qwen3_5ForCausalLM.forward.
func (m *qwen35) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is Qwen3_5TextModel.forward.
func (m *qwen35) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	pos := fn.Let(m.w.Arange(m.run.Seq).AddScalar())
	fn.Set(&pos, pos.View(1, 1, -1).Expand(4, embeds.Size(0), -1))
	text := fn.Let(pos.Select(0, 0)) // (B, S)
	fn.Set(&pos, pos.Slice(0, 1, 4)) // (3, B, S)
	m.masks.create(fn, m.net, embeds, b.Mask, text)
	hidden := fn.Let(embeds)
	r := m.rope
	r.cos, r.sin = fn.Let2(r.forward(hidden, pos))
	m.w.Local(&r.cos)
	m.w.Local(&r.sin)
	for _, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden, text, r.cos, r.sin, m.masks.full))
	}
	fn.Set(&hidden, m.w.Call(m.norm, hidden))
	return fn.Return(hidden)
}

// qwen35Delta is Qwen3_5GatedDeltaNet.
type qwen35Delta struct {
	shadow.Path
	deltaNet
	qkv, z, b, a *nn.Linear
}

func newQwen35Delta(b *nn.Builder, at string, hidden int, s deltaShape, act activation) *qwen35Delta {
	d := &qwen35Delta{Path: shadow.Path(at), deltaNet: deltaNet{deltaShape: s, act: act}}
	d.conv = b.Parameter(at+".conv1d.weight", s.mixed(), 1, s.kernel)
	d.dtBias = b.Parameter(at+".dt_bias", s.valueHeads)
	d.aLog = b.Parameter(at+".A_log", s.valueHeads)
	d.norm = newDeltaNorm(b, at+".norm", s.valueDim)
	d.out = b.Linear(at+".out_proj", s.values(), hidden, false)
	d.qkv = b.Linear(at+".in_proj_qkv", hidden, s.mixed(), false)
	d.z = b.Linear(at+".in_proj_z", hidden, s.values(), false)
	d.b = b.Linear(at+".in_proj_b", hidden, s.valueHeads, false)
	d.a = b.Linear(at+".in_proj_a", hidden, s.valueHeads, false)
	return d
}

func (d *qwen35Delta) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	B, S := hidden.Size(0), hidden.Size(1)
	v := &deltaVars{}
	fn.Set(&v.mixed, d.qkv.Call(hidden))
	fn.Set(&v.mixed, v.mixed.Transpose(1, 2)) // (B, C, S)
	fn.Set(&v.z, d.z.Call(hidden))
	fn.Set(&v.z, v.z.Reshape(B, S, -1, d.valueDim))
	b := fn.Let(d.b.Call(hidden))
	a := fn.Let(d.a.Call(hidden))
	return d.mix(fn, v, b, a)
}
