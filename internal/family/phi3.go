// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Phi-3: transformers/models/phi3/modeling_phi3.py. Llama with queries, keys and
// values from one product, gate and up from another, and a rotation of part of
// each head.

func newPhi3(b *nn.Builder, c *Config, run Run) (Model, error) {
	hidden := c.Positive("hidden_size", 3072)
	heads := c.Positive("num_attention_heads", 32)
	kv := c.kvHeads(heads, heads)
	dim := c.headDim(hidden, heads)
	inter := c.Positive("intermediate_size", 8192)
	layers := c.Int("num_hidden_layers", 32)
	window := c.window(0)
	m := &llama{net: net{b.W, run}}
	masks := sameWindow(layers, window)
	m.masks = &masks
	m.embed = b.Embedding("model.embed_tokens", c.Positive("vocab_size", 32064), hidden)
	for i := range layers {
		at := fmt.Sprintf("model.layers.%d", i)
		l := &phi3Layer{Path: shadow.Path(at), drop: nn.Dropout(c.Float("resid_pdrop", 0))}
		l.attn = &phi3Attention{
			Path: shadow.Path(at + ".self_attn"), m: m, heads: heads, kv: kv, headDim: dim, window: window,
			o:       b.Linear(at+".self_attn.o_proj", heads*dim, hidden, false),
			qkv:     b.Linear(at+".self_attn.qkv_proj", hidden, (heads+2*kv)*dim, false),
			dropout: c.Float("attention_dropout", 0),
		}
		l.mlp = &phi3MLP{
			Path: shadow.Path(at + ".mlp"), act: c.activation("hidden_act", "silu"), liger: run.liger("mlp"),
			gateUp: b.Linear(at+".mlp.gate_up_proj", hidden, 2*inter, false),
			down:   b.Linear(at+".mlp.down_proj", inter, hidden, false),
		}
		l.inputNorm = newRMSNorm(b, run, at+".input_layernorm", hidden)
		l.postNorm = newRMSNorm(b, run, at+".post_attention_layernorm", hidden)
		m.layers = append(m.layers, l)
	}
	m.norm = newRMSNorm(b, run, "model.norm", hidden)
	m.rotary = sharedRotary(b, c, c.rotaryDim(dim, "partial_rotary_factor", 1))
	m.head = newCausalHead(b, c, run, hidden, m.embed, false)
	return m, nil
}

type phi3Layer struct {
	shadow.Path
	attn                *phi3Attention
	mlp                 *phi3MLP
	inputNorm, postNorm *rmsNorm
	drop                nn.Dropout
}

func (l *phi3Layer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.inputNorm.Call(hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, residual.Add(l.drop.Call(hidden)))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.postNorm.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, residual.Add(l.drop.Call(hidden)))
	return hidden
}

type phi3Attention struct {
	shadow.Path
	m                          *llama
	qkv, o                     *nn.Linear
	heads, kv, headDim, window int
	dropout                    float64
}

func (a *phi3Attention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S, D := hidden.Size(0), hidden.Size(1), a.headDim
	qkv := fn.Let(a.qkv.Call(hidden))
	pos := a.heads * D
	query := fn.Let(qkv.Slice(-1, 0, pos))
	key := fn.Let(qkv.Slice(-1, pos, pos+a.kv*D))
	value := fn.Let(qkv.Slice(-1, pos+a.kv*D, qkv.Size(-1)))
	fn.Set(&query, query.View(B, S, -1, D).Transpose(1, 2)) // (B, H, S, D)
	fn.Set(&key, key.View(B, S, -1, D).Transpose(1, 2))     // (B, Hkv, S, D)
	fn.Set(&value, value.View(B, S, -1, D).Transpose(1, 2)) // (B, Hkv, S, D)

	q, k := a.rotate(query, key)
	fn.Set2(&query, q, &key, k)

	out, weights := a.m.attention(query, key, value, attending{mask: a.m.masks.of(a.window), causal: true, dropout: a.dropout})
	fn.Let(out) // (B, S, H, D)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}

// rotate is apply_rotary_pos_emb, or Liger's version.
func (a *phi3Attention) rotate(query, key *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	r := a.m.rotary.of(a.window)
	if a.m.run.liger("rope") {
		return shadow.LigerRope(query, key, r.cos, r.sin)
	}
	return applyPartialRotary(query, key, r.cos, r.sin, false)
}

type phi3MLP struct {
	shadow.Path
	gateUp, down *nn.Linear
	act          activation
	liger        bool
}

func (m *phi3MLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	up := fn.Let(m.gateUp.Call(hidden)) // (B, S, 2I)
	halves := up.Chunk(2, -1)
	gate := fn.Let(halves[0])
	fn.Set(&up, halves[1])
	if m.liger {
		return m.down.Call(gate.LigerGLU(up))
	}
	fn.Set(&up, up.Mul(m.act(gate)))
	return m.down.Call(up)
}
