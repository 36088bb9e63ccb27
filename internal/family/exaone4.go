// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newEXAONE4 makes EXAONE 4: norms after attention and MLP, normalized queries and keys, and, if it has a sliding
// window, one layer in four without a window and without positions
// (transformers/models/exaone4/modeling_exaone4.py).
func newEXAONE4(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 32, inter: 16384, vocab: 102400})
	window := c.window(4096)
	every := 0
	if window > 0 {
		every = c.Positive("sliding_window_pattern", 4)
	}
	s.masks = layerMasks{windows: c.layerWindows(s.layers, window, func(i int) bool { return every > 0 && (i+1)%every != 0 }), both: true}
	s.masks.window = slices.Max(append(s.masks.windows, 0))
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.window = c.Float("attention_dropout", 0), s.masks.windows[i]
		attn.unrotated = window > 0 && attn.window == 0
		return &exaone4Layer{
			Path: shadow.Path(at),
			attn: &exaone4Attention{
				llamaAttention: attn,
				qNorm:          newRMSNorm(b, run, at+".self_attn.q_norm", s.dim),
				kNorm:          newRMSNorm(b, run, at+".self_attn.k_norm", s.dim),
			},
			mlp:      newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act),
			postAttn: newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
			postFeed: newRMSNorm(b, run, at+".post_feedforward_layernorm", s.hidden),
		}
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

type exaone4Layer struct {
	shadow.Path
	attn               *exaone4Attention
	mlp                *llamaMLP
	postAttn, postFeed *rmsNorm
}

func (l *exaone4Layer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, l.postAttn.Call(hidden))
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, l.postFeed.Call(hidden))
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

type exaone4Attention struct {
	*llamaAttention
	qNorm, kNorm *rmsNorm // per head, before the rotation
}

func (a *exaone4Attention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, H, S, D)
	key := fn.Let(a.k.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))   // (B, Hkv, S, D)
	value := fn.Let(a.v.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, Hkv, S, D)
	fn.Set(&query, a.qNorm.Call(query))
	fn.Set(&key, a.kNorm.Call(key))
	return a.attend(fn, &query, &key, value)
}
