// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newQwen3Next makes Qwen3-Next: three layers in four have a Gated DeltaNet, the others attention with a gate, and all have
// experts (transformers/models/qwen3_next/modeling_qwen3_next.py).
func newQwen3Next(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Transformers != 0 && run.Transformers < expertModules {
		return nil, refuse("versions.transformers", "qwen3_next is simulated only for transformers 5; use 5")
	}
	s := readDecoder(c, llamaShape{hidden: 2048, layers: 48, heads: 16, kv: 2, inter: 5632, vocab: 151936})
	s.dim = c.Positive("head_dim", 256)
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias, s.masks.recurs = s.qkvBias, true
	moe := moeShape{
		experts: c.experts("num_experts", 512), chosen: c.Positive("num_experts_per_tok", 10),
		inter: c.Positive("moe_intermediate_size", 512), every: c.Positive("decoder_sparse_step", 1),
		dense: c.Ints("mlp_only_layers"), normalized: c.Bool("norm_topk_prob", true), routerFirst: true,
	}
	c.noRouterLogits()
	c.chosenFit(&moe)
	shared := c.Positive("shared_expert_intermediate_size", 512)
	linear, delta := c.linearLayers(s.layers), readDelta(c)
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		l := &hybridLayer{Path: shadow.Path(at)}
		if linear[i] {
			l.linear = newQwen3NextDelta(b, at+".linear_attn", s.hidden, delta, act)
		} else {
			l.attn = newGatedAttention(b, c, m, at+".self_attn", s)
		}
		if moe.sparse(i) {
			l.mlp = &qwen2MoEBlock{
				moeBlock:   newMoeBlock(b, run, at+".mlp", s.hidden, moe, act),
				shared:     newLlamaMLP(b, run, at+".mlp.shared_expert", s.hidden, shared, false, act),
				sharedGate: b.Linear(at+".mlp.shared_expert_gate", s.hidden, 1, false),
			}
		} else {
			l.mlp = newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act)
		}
		l.inputNorm = newGemma2Norm(b, run, at+".input_layernorm", s.hidden)
		l.postNorm = newGemma2Norm(b, run, at+".post_attention_layernorm", s.hidden)
		return l
	})
	m.norm = newGemma2Norm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, c.rotaryDim(s.dim, "partial_rotary_factor", 0.25))
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

// linearLayers returns which layers have linear attention.
func (c *Config) linearLayers(layers int) []bool {
	out := make([]bool, layers)
	types, every := c.Strings("layer_types"), c.Positive("full_attention_interval", 4)
	if types != nil && len(types) < layers {
		c.fail("layer_types", "a list with one entry for each layer")
		types = nil
	}
	for i := range out {
		out[i] = types != nil && types[i] == "linear_attention" || types == nil && (i+1)%every != 0
	}
	return out
}

// hybridLayer is Qwen3NextDecoderLayer.
type hybridLayer struct {
	shadow.Path
	linear              shadow.Module  // a layer has either this
	attn                shadow.Module2 // or this
	mlp                 shadow.Module
	inputNorm, postNorm *gemma2Norm
}

func (l *hybridLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.inputNorm.Call(hidden))
	if l.linear != nil {
		fn.Set(&hidden, w.Call(l.linear, hidden))
	} else {
		out, weights := w.Call2(l.attn, hidden)
		fn.Set(&hidden, out)
		fn.Let(weights)
	}
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.postNorm.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

// gatedAttention is Qwen3NextAttention: the queries' projection also makes a gate for the result.
type gatedAttention struct {
	*llamaAttention
	qNorm, kNorm *gemma2Norm
}

func newGatedAttention(b *nn.Builder, c *Config, m *llama, at string, s llamaShape) *gatedAttention {
	return &gatedAttention{
		llamaAttention: &llamaAttention{
			Path: shadow.Path(at), m: m, headDim: s.dim, dropout: c.Float("attention_dropout", 0), rotate: lateRotary,
			q: b.Linear(at+".q_proj", s.hidden, 2*s.heads*s.dim, s.qkvBias),
			k: b.Linear(at+".k_proj", s.hidden, s.kv*s.dim, s.qkvBias),
			v: b.Linear(at+".v_proj", s.hidden, s.kv*s.dim, s.qkvBias),
			o: b.Linear(at+".o_proj", s.heads*s.dim, s.hidden, s.oBias),
		},
		qNorm: newGemma2Norm(b, m.run, at+".q_norm", s.dim),
		kNorm: newGemma2Norm(b, m.run, at+".k_norm", s.dim),
	}
}

func (a *gatedAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	halves := a.q.Call(hidden).View(B, S, -1, 2*a.headDim).Chunk(2, -1)
	query, gate := fn.Let(halves[0]), fn.Let(halves[1]) // (B, S, H, D)
	fn.Set(&gate, gate.Reshape(B, S, -1))
	fn.Set(&query, a.qNorm.Call(query.View(B, S, -1, a.headDim)).Transpose(1, 2))
	key := fn.Let(a.kNorm.Call(a.k.Call(hidden).View(B, S, -1, a.headDim)).Transpose(1, 2)) // (B, Hkv, S, D)
	value := fn.Let(a.v.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))             // (B, Hkv, S, D)
	q, k := a.m.applyRotary(query, key, 0, a.rotate)
	fn.Set2(&query, q, &key, k)
	var out *shadow.Tensor
	weights := a.mix(fn, &out, query, &key, value)
	fn.Set(&out, out.Mul(gate.Sigmoid()))
	fn.Set(&out, a.o.Call(out))
	return out, weights
}

// qwen3NextDelta is Qwen3NextGatedDeltaNet.
type qwen3NextDelta struct {
	shadow.Path
	deltaNet
	qkvz, ba *nn.Linear
}

func newQwen3NextDelta(b *nn.Builder, at string, hidden int, s deltaShape, act activation) *qwen3NextDelta {
	d := &qwen3NextDelta{Path: shadow.Path(at), deltaNet: deltaNet{deltaShape: s, act: act}}
	d.conv = b.Parameter(at+".conv1d.weight", s.mixed(), 1, s.kernel)
	d.qkvz = b.Linear(at+".in_proj_qkvz", hidden, 2*s.keys()+2*s.values(), false)
	d.ba = b.Linear(at+".in_proj_ba", hidden, 2*s.valueHeads, false)
	d.dtBias = b.Parameter(at+".dt_bias", s.valueHeads)
	d.aLog = b.Parameter(at+".A_log", s.valueHeads)
	d.norm = newDeltaNorm(b, at+".norm", s.valueDim)
	d.out = b.Linear(at+".out_proj", s.values(), hidden, false)
	return d
}

func (d *qwen3NextDelta) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	B, S := hidden.Size(0), hidden.Size(1)
	qkvz := fn.Let(d.qkvz.Call(hidden))
	ba := fn.Let(d.ba.Call(hidden))
	parts := d.order(qkvz, ba)
	for _, t := range parts {
		fn.Let(t)
	}
	v := &deltaVars{query: parts[0], key: parts[1], value: parts[2], z: parts[3]}
	rebind(fn, func(x *shadow.Tensor) *shadow.Tensor { return x.Reshape(B, S, -1) }, &v.query, &v.key, &v.value)
	fn.Set(&v.mixed, shadow.Cat(-1, v.query, v.key, v.value)) // (B, S, C)
	fn.Set(&v.mixed, v.mixed.Transpose(1, 2))
	return d.mix(fn, v, parts[4], parts[5])
}

// order is fix_query_key_value_ordering: projections are grouped by key heads.
func (d *qwen3NextDelta) order(qkvz, ba *shadow.Tensor) []*shadow.Tensor {
	fn := qkvz.World().Func(qkvz, ba)
	B, S, times := qkvz.Size(0), qkvz.Size(1), d.valueHeads/d.keyHeads
	fn.Set(&qkvz, qkvz.View(B, S, d.keyHeads, -1))
	fn.Set(&ba, ba.View(B, S, d.keyHeads, -1))
	of := qkvz.Split(3, d.keyDim, d.keyDim, times*d.valueDim, times*d.valueDim)
	query, key, value, z := fn.Let(of[0]), fn.Let(of[1]), fn.Let(of[2]), fn.Let(of[3])
	of = ba.Split(3, times, times)
	b, a := fn.Let(of[0]), fn.Let(of[1])
	fn.Set(&value, value.Reshape(B, S, -1, d.valueDim))
	fn.Set(&z, z.Reshape(B, S, -1, d.valueDim))
	fn.Set(&b, b.Reshape(B, S, d.valueHeads))
	fn.Set(&a, a.Reshape(B, S, d.valueHeads))
	return fn.Returns(query, key, value, z, b, a)
}
