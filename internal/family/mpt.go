// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"
	"math/bits"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// MPT: transformers/models/mpt/modeling_mpt.py. Positions are a bias on the scores, layers have no biases, and
// attention always runs MPT's own eager code.

type mpt struct {
	net
	wte    *nn.Embedding
	blocks []*mptBlock
	normF  *nn.LayerNorm
	heads  int
	places int            // max_seq_len
	alibi  *shadow.Tensor // for the current forward, like mask
	mask   *shadow.Tensor
	head   *causalHead
}

func newMPT(b *nn.Builder, c *Config, run Run) (Model, error) {
	run, err := run.eagerOnly("mpt")
	if err != nil {
		return nil, err
	}
	c.alias("d_model", "hidden_size")
	c.alias("n_heads", "num_attention_heads")
	c.alias("n_layers", "num_hidden_layers")
	hidden := c.Positive("d_model", 2048)
	m := &mpt{net: net{b.W, run}, heads: c.Positive("n_heads", 16), places: c.Positive("max_seq_len", 2048)}
	m.wte = b.Embedding("transformer.wte", c.Positive("vocab_size", 50368), hidden)
	for i := range c.Int("n_layers", 24) {
		m.blocks = append(m.blocks, newMPTBlock(b, c, m, fmt.Sprintf("transformer.blocks.%d", i), hidden))
	}
	m.normF = b.LayerNorm("transformer.norm_f", hidden, false)
	m.head = newCausalHead(b, c, run, hidden, m.wte, true)
	return m, nil
}

func (m *mpt) Batch() Batch { return m.textBatch() }

// Loss is MptForCausalLM.forward.
func (m *mpt) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is MptModel.forward.
func (m *mpt) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.wte.Call(b.IDs))
	hidden := fn.Let(embeds)
	m.alibi = fn.Let(m.buildAlibi())
	m.mask = fn.Let(m.causalMask(embeds, b.Mask, nil, 0).To(shadow.Bool))
	var outputs [2]*shadow.Tensor
	for _, block := range m.blocks {
		out, weights := m.layerWeights(block, hidden, m.alibi, m.mask)
		fn.Set2(&outputs[0], out, &outputs[1], weights)
		fn.Set(&hidden, out)
	}
	fn.Set(&hidden, m.normF.Call(hidden))
	return fn.Return(hidden)
}

// buildAlibi is build_mpt_alibi_tensor: (H, 1, places).
func (m *mpt) buildAlibi() *shadow.Tensor {
	fn := m.w.Func()
	alibi := fn.Let(m.w.Empty(shadow.Dims(1, 1, 1, m.places), shadow.Int32))
	power := 1 << bits.Len(uint(m.heads-1)) // the smallest power of 2 that is at least heads
	base := fn.Let(m.w.Arange(power).Float())
	fn.Set(&base, base.MulScalar())
	powers := base.ScalarPow().Hold()
	slopes := fn.Let(powers.MulScalar().MulScalar()) // 1.0 / powers
	powers.Drop()
	fn.Set(&slopes, slopes.View(1, power, 1, 1))
	if power != m.heads {
		odd, even := slopes.SliceStep(1, 1, power, 2), slopes.SliceStep(1, 0, power, 2)
		fn.Set(&slopes, shadow.Cat(1, odd, even).Slice(1, 0, m.heads))
	}
	fn.Set(&alibi, alibi.Mul(slopes))
	return fn.Return(alibi.Squeeze(0))
}

type mptBlock struct {
	shadow.Path
	norm1, norm2 *nn.LayerNorm
	attn         *mptAttention
	ffn          *mptMLP
	drop         nn.Dropout
}

func newMPTBlock(b *nn.Builder, c *Config, m *mpt, at string, hidden int) *mptBlock {
	of := NewConfig(nil)
	if keys, ok := c.keys["attn_config"].(map[string]any); ok {
		of = NewConfig(keys)
	}
	l := &mptBlock{Path: shadow.Path(at), drop: nn.Dropout(of.Float("attn_pdrop", 0))}
	l.norm1 = b.LayerNorm(at+".norm_1", hidden, false)
	l.attn = &mptAttention{
		Path: shadow.Path(at + ".attn"), m: m, headDim: c.HeadDim(hidden, m.heads), drop: l.drop, clips: of.Float("clip_qkv", 0) != 0,
		qkv: b.Linear(at+".attn.Wqkv", hidden, 3*hidden, false),
		out: b.Linear(at+".attn.out_proj", hidden, hidden, false),
	}
	l.norm2 = b.LayerNorm(at+".norm_2", hidden, false)
	l.ffn = &mptMLP{
		Path: shadow.Path(at + ".ffn"), drop: l.drop,
		up:   b.Linear(at+".ffn.up_proj", hidden, 4*hidden, false),
		down: b.Linear(at+".ffn.down_proj", 4*hidden, hidden, false),
	}
	return l
}

func (l *mptBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	w := hidden.World()
	normed := fn.Let(l.norm1.Call(hidden))
	residual := fn.Let(hidden)
	attended, weights := fn.Let2(w.Call2(l.attn, normed))
	fn.Set(&hidden, l.drop.Call(attended).Add(residual))
	fn.Set(&normed, l.norm2.Call(hidden))
	fn.Set(&residual, hidden)
	l.ffn.residual = residual
	return fn.Let(w.Call(l.ffn, normed)), weights
}

type mptAttention struct {
	shadow.Path
	m        *mpt
	qkv, out *nn.Linear
	headDim  int
	clips    bool // queries, keys and values are clamped
	drop     nn.Dropout
}

func (a *mptAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	mixed := fn.Let(a.qkv.Call(hidden)) // (B, S, 3H)
	if a.clips {
		fn.Set(&mixed, mixed.Clamp())
	}
	split := func(x *shadow.Tensor) *shadow.Tensor { return x.Reshape(B, S, a.m.heads, a.headDim).Transpose(1, 2) }
	parts := mixed.Chunk(3, 2)
	query, key, value := fn.Let(parts[0]), fn.Let(parts[1]), fn.Let(parts[2])
	fn.Set(&query, split(query)) // (B, H, S, D)
	fn.Set(&key, split(key))
	fn.Set(&value, split(value))
	a.m.cached(fn, &key, &value, 0)
	scores := fn.Let(query.Matmul(key.Transpose(-1, -2)).MulScalar()) // (B, H, S, S)
	places := a.m.alibi.Size(2)
	bias := fn.Let(a.m.alibi.Slice(2, max(0, places-S), places)) // (H, 1, S)
	fn.Set(&scores, scores.Add(bias))
	fn.Set(&scores, scores.MaskedFill(a.m.mask))
	weights := fn.Let(scores.Float().Softmax(shadow.None).To(value.DType()))
	fn.Set(&weights, a.drop.Call(weights))
	context := fn.Let(weights.Matmul(value))
	fn.Set(&context, context.Permute(0, 2, 1, 3).Contiguous().View(B, S, -1))
	return fn.Let(a.out.Call(context)), weights
}

type mptMLP struct {
	shadow.Path
	up, down *nn.Linear
	drop     nn.Dropout
	residual *shadow.Tensor // for the current call
}

func (m *mptMLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.up.Call(hidden).GELU())
	inner := fn.Let(m.down.Call(hidden))
	out := fn.Let(m.drop.Call(inner))
	fn.Set(&out, out.Add(m.residual))
	return out
}
