// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Phi-1, Phi-1.5 and Phi-2: transformers/models/phi/modeling_phi.py. Attention and MLP run in parallel after one
// norm, part of each head is rotated, and every linear layer has a bias.

func newPhi(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 2048, layers: 24, heads: 32, inter: 8192, vocab: 51200})
	s.qkvBias, s.oBias = true, true
	rotated := c.rotaryDim(s.dim, "partial_rotary_factor", 0.5)
	act := c.activation("hidden_act", "gelu_new")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		l := &phiLayer{Path: shadow.Path(at), drop: nn.Dropout(c.Float("resid_pdrop", 0))}
		l.attn = newPhiAttention(b, c, m, at+".self_attn", s, rotated)
		l.mlp = &phiMLP{
			Path: shadow.Path(at + ".mlp"), act: act,
			fc1: b.Linear(at+".mlp.fc1", s.hidden, s.inter, true),
			fc2: b.Linear(at+".mlp.fc2", s.inter, s.hidden, true),
		}
		l.inputNorm = b.LayerNorm(at+".input_layernorm", s.hidden, true)
		return l
	})
	m.rotary = sharedRotary(b, c, rotated)
	m.embedDrop, m.renamed = nn.Dropout(c.Float("embd_pdrop", 0)), true
	m.norm = b.LayerNorm("model.final_layernorm", s.hidden, true)
	m.head = newBiasedHead(b, c, run, s.hidden, m.embed, false, true)
	return m, nil
}

type phiLayer struct {
	shadow.Path
	attn      *phiAttention
	mlp       *phiMLP
	inputNorm *nn.LayerNorm
	drop      nn.Dropout
}

func (l *phiLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.inputNorm.Call(hidden))
	attended, weights := w.Call2(l.attn, hidden)
	fn.Let(attended)
	fn.Let(weights)
	fn.Set(&attended, l.drop.Call(attended))
	feed := fn.Let(l.drop.Call(w.Call(l.mlp, hidden)))
	fn.Set(&hidden, attended.Add(feed).Add(residual))
	return hidden
}

type phiAttention struct{ partialAttention }

func newPhiAttention(b *nn.Builder, c *Config, m *llama, at string, s llamaShape, rotated int) *phiAttention {
	a := &phiAttention{partialAttention{
		Path: shadow.Path(at), m: m, headDim: s.dim, rotated: rotated, dropout: c.Float("attention_dropout", 0),
		q: b.Linear(at+".q_proj", s.hidden, s.heads*s.dim, true),
		k: b.Linear(at+".k_proj", s.hidden, s.kv*s.dim, true),
		v: b.Linear(at+".v_proj", s.hidden, s.kv*s.dim, true),
		o: b.Linear(at+".dense", s.heads*s.dim, s.hidden, true),
	}}
	if c.Bool("qk_layernorm", false) {
		a.qNorm = b.LayerNorm(at+".q_layernorm", s.dim, true)
		a.kNorm = b.LayerNorm(at+".k_layernorm", s.dim, true)
	}
	return a
}

func (a *phiAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, H, S, D)
	key := fn.Let(a.k.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))   // (B, Hkv, S, D)
	value := fn.Let(a.v.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, Hkv, S, D)
	return a.attend(fn, query, key, value)
}

type phiMLP struct {
	shadow.Path
	fc1, fc2 *nn.Linear
	act      activation
}

func (m *phiMLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.fc1.Call(hidden))
	fn.Set(&hidden, m.act(hidden))
	fn.Set(&hidden, m.fc2.Call(hidden))
	return hidden
}
