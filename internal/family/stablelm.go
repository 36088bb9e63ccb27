// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// StableLM: transformers/models/stablelm/modeling_stablelm.py. Llama with layer norms and a rotation of part of
// each head; attention and MLP may run in parallel.

func newStableLM(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 2560, layers: 32, heads: 32, kv: 32, inter: 6912, vocab: 50304})
	s.dim = c.HeadDim(s.hidden, s.heads)
	s.qkvBias = c.Bool("use_qkv_bias", false)
	rotated := c.rotaryDim(s.dim, "partial_rotary_factor", 0.25)
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		l := &stableLayer{Path: shadow.Path(at), drop: nn.Dropout(c.Float("hidden_dropout", 0))}
		l.attn = newStableAttention(b, c, m, at+".self_attn", s, rotated)
		l.mlp = newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act)
		l.inputNorm = b.LayerNorm(at+".input_layernorm", s.hidden, true)
		if !c.Bool("use_parallel_residual", false) {
			l.postNorm = b.LayerNorm(at+".post_attention_layernorm", s.hidden, true)
		}
		return l
	})
	m.norm = b.LayerNorm("model.norm", s.hidden, true)
	m.rotary = sharedRotary(b, c, rotated)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

type stableLayer struct {
	shadow.Path
	attn                *stableAttention
	mlp                 *llamaMLP
	inputNorm, postNorm *nn.LayerNorm // postNorm is nil if attention and MLP run in parallel
	drop                nn.Dropout
}

func (l *stableLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.inputNorm.Call(hidden))
	attended, weights := w.Call2(l.attn, hidden)
	fn.Let(attended)
	fn.Let(weights)
	if l.postNorm == nil {
		feed := fn.Let(w.Call(l.mlp, hidden))
		fn.Set(&feed, l.drop.Call(feed))
		fn.Set(&hidden, residual.Add(attended).Add(feed))
		return hidden
	}
	fn.Set(&residual, residual.Add(attended))
	feed := fn.Let(w.Call(l.mlp, l.postNorm.Call(residual)))
	fn.Set(&feed, l.drop.Call(feed))
	fn.Set(&hidden, residual.Add(feed))
	return hidden
}

type stableAttention struct{ partialAttention }

func newStableAttention(b *nn.Builder, c *Config, m *llama, at string, s llamaShape, rotated int) *stableAttention {
	a := &stableAttention{partialAttention{
		Path: shadow.Path(at), m: m, headDim: s.dim, rotated: rotated, dropout: c.Float("attention_dropout", 0),
		q: b.Linear(at+".q_proj", s.hidden, s.heads*s.dim, s.qkvBias),
		k: b.Linear(at+".k_proj", s.hidden, s.kv*s.dim, s.qkvBias),
		v: b.Linear(at+".v_proj", s.hidden, s.kv*s.dim, s.qkvBias),
		o: b.Linear(at+".o_proj", s.hidden, s.hidden, false),
	}}
	if c.Bool("qk_layernorm", false) {
		a.qNorm = newHeadNorms(b, at+".q_layernorm", s.heads, s.dim)
		a.kNorm = newHeadNorms(b, at+".k_layernorm", s.kv, s.dim)
	}
	return a
}

func (a *stableAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden)) // (B, S, H·D)
	key := fn.Let(a.k.Call(hidden))   // (B, S, Hkv·D)
	value := fn.Let(a.v.Call(hidden)) // (B, S, Hkv·D)
	fn.Set(&query, query.View(B, S, -1, a.headDim).Transpose(1, 2))
	fn.Set(&key, key.View(B, S, -1, a.headDim).Transpose(1, 2))
	fn.Set(&value, value.View(B, S, -1, a.headDim).Transpose(1, 2))
	return a.attend(fn, query, key, value)
}

// headNorms is StableLmLayerNormPerHead.
type headNorms struct {
	shadow.Path
	norms []*nn.LayerNorm
}

func newHeadNorms(b *nn.Builder, at string, heads, dim int) *headNorms {
	n := &headNorms{Path: shadow.Path(at)}
	for i := range heads {
		n.norms = append(n.norms, b.LayerNorm(fmt.Sprintf("%s.norms.%d", at, i), dim, false))
	}
	return n
}

func (n *headNorms) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	var normed []*shadow.Tensor
	for _, head := range hidden.Chunk(len(n.norms), 1) { // (B, 1, S, D)
		fn.Let(head)
		normed = append(normed, n.norms[len(normed)].Call(head).Hold())
	}
	out := shadow.Cat(1, normed...)
	for _, t := range normed {
		t.Drop()
	}
	return out
}
