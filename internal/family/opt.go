// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// OPT: transformers/models/opt/modeling_opt.py.

type opt struct {
	net
	tokens, places        *nn.Embedding
	projectIn, projectOut *nn.Linear // if embeddings are narrower than layers
	norm                  *nn.LayerNorm
	layers                []*optLayer
	mask                  *shadow.Tensor // for the current forward
	head                  *causalHead
}

func newOPT(b *nn.Builder, c *Config, run Run) (Model, error) {
	hidden := c.Positive("hidden_size", 768)
	narrow := c.Positive("word_embed_proj_dim", hidden)
	before := c.Bool("do_layer_norm_before", true)
	m := &opt{net: net{b.W, run}}
	m.tokens = b.Embedding("model.decoder.embed_tokens", c.Positive("vocab_size", 50272), narrow)
	m.places = b.Embedding("model.decoder.embed_positions", c.Positive("max_position_embeddings", 2048)+2, hidden)
	if narrow != hidden {
		m.projectOut = b.Linear("model.decoder.project_out", hidden, narrow, false)
		m.projectIn = b.Linear("model.decoder.project_in", narrow, hidden, false)
	}
	affine := c.Bool("layer_norm_elementwise_affine", true)
	if before && !c.Bool("_remove_final_layer_norm", false) {
		m.norm = newOPTNorm(b, "model.decoder.final_layer_norm", hidden, affine)
	}
	for i := range c.Int("num_hidden_layers", 12) {
		m.layers = append(m.layers, newOPTLayer(b, c, m, fmt.Sprintf("model.decoder.layers.%d", i), hidden, before, affine))
	}
	m.head = newCausalHead(b, c, run, narrow, m.tokens, true)
	return m, nil
}

// newOPTNorm makes an nn.LayerNorm; without affine it has no parameters.
func newOPTNorm(b *nn.Builder, at string, width int, affine bool) *nn.LayerNorm {
	if !affine {
		return &nn.LayerNorm{Path: shadow.Path(at)}
	}
	return b.LayerNorm(at, width, true)
}

func (m *opt) Batch() Batch { return m.textBatch() }

// Loss is OPTForCausalLM.forward.
func (m *opt) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is OPTDecoder.forward. Positions are counted over the mask. If the batch has no mask, forward makes one.
func (m *opt) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.tokens.Call(b.IDs))
	mask := b.Mask
	if mask == nil {
		mask = m.w.Full(shadow.Float32, m.run.Batch, m.run.Seq)
	}
	fn.Let(mask)
	pos := fn.Let(mask.Cumsum())
	fn.Set(&pos, pos.Mul(mask).AddScalar().To(shadow.Int64))
	fn.Set(&pos, pos.Alias()) // (B, S)
	m.mask = fn.Let(m.causalMask(embeds, mask, nil, 0))
	m.w.Local(&m.mask)
	places := fn.Let(m.places.Call(pos.AddScalar()))
	if m.projectIn != nil {
		fn.Set(&embeds, m.projectIn.Call(embeds))
	}
	hidden := fn.Let(embeds.Add(places))
	for _, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden, m.mask, pos))
	}
	if m.norm != nil {
		fn.Set(&hidden, m.norm.Call(hidden))
	}
	if m.projectOut != nil {
		fn.Set(&hidden, m.projectOut.Call(hidden))
	}
	return fn.Return(hidden)
}

type optLayer struct {
	shadow.Path
	attn           *optAttention
	attnNorm, norm *nn.LayerNorm
	fc1, fc2       *nn.Linear
	act            activation
	drop           nn.Dropout
	before         bool // norms precede attention and MLP
}

func newOPTLayer(b *nn.Builder, c *Config, m *opt, at string, hidden int, before, affine bool) *optLayer {
	heads := c.Positive("num_attention_heads", 12)
	bias := c.Bool("enable_bias", true)
	ffn := c.Positive("ffn_dim", 3072)
	return &optLayer{
		Path: shadow.Path(at), before: before,
		attn: &optAttention{
			Path: shadow.Path(at + ".self_attn"), m: m, heads: heads, headDim: c.HeadDim(hidden, heads),
			k:       b.Linear(at+".self_attn.k_proj", hidden, hidden, bias),
			v:       b.Linear(at+".self_attn.v_proj", hidden, hidden, bias),
			q:       b.Linear(at+".self_attn.q_proj", hidden, hidden, bias),
			out:     b.Linear(at+".self_attn.out_proj", hidden, hidden, bias),
			dropout: c.Float("attention_dropout", 0),
		},
		drop:     nn.Dropout(c.Float("dropout", 0.1)),
		act:      c.activation("activation_function", "relu"),
		attnNorm: newOPTNorm(b, at+".self_attn_layer_norm", hidden, affine),
		fc1:      b.Linear(at+".fc1", hidden, ffn, bias),
		fc2:      b.Linear(at+".fc2", ffn, hidden, bias),
		norm:     newOPTNorm(b, at+".final_layer_norm", hidden, affine),
	}
}

func (l *optLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	B, S := hidden.Size(0), hidden.Size(1)
	residual := fn.Let(hidden)
	if l.before {
		fn.Set(&hidden, l.attnNorm.Call(hidden))
	}
	out, weights := hidden.World().Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, l.drop.Call(hidden))
	fn.Set(&hidden, residual.Add(hidden))
	if !l.before {
		fn.Set(&hidden, l.attnNorm.Call(hidden))
	}

	fn.Set(&hidden, hidden.Reshape(-1, hidden.Size(-1))) // (B·S, H)
	fn.Set(&residual, hidden)
	if l.before {
		fn.Set(&hidden, l.norm.Call(hidden))
	}
	fn.Set(&hidden, l.fc1.Call(hidden))
	fn.Set(&hidden, l.act(hidden))
	fn.Set(&hidden, l.fc2.Call(hidden))
	fn.Set(&hidden, l.drop.Call(hidden))
	fn.Set(&hidden, residual.Add(hidden).View(B, S, -1))
	if !l.before {
		fn.Set(&hidden, l.norm.Call(hidden))
	}
	return hidden
}

type optAttention struct {
	shadow.Path
	m              *opt
	q, k, v, out   *nn.Linear
	heads, headDim int
	dropout        float64
}

func (a *optAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	split := func(x *shadow.Tensor) *shadow.Tensor { return x.View(B, -1, a.heads, a.headDim).Transpose(1, 2) }
	query := fn.Let(a.q.Call(hidden).MulScalar())
	fn.Set(&query, split(query)) // (B, H, S, D)
	key := fn.Let(a.k.Call(hidden))
	value := fn.Let(a.v.Call(hidden))
	fn.Set(&key, split(key))
	fn.Set(&value, split(value))
	a.m.cached(fn, &key, &value, 0)

	out, weights := a.m.attention(query, key, value, attending{mask: a.m.mask, causal: true, dropout: a.dropout})
	fn.Let(out) // (B, S, H, D)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.out.Call(out))
	return out, weights
}
