// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// torchtune's decoders (torchtune 0.6.1): modules/transformer.py, attention.py, feed_forward.py, rms_norm.py and
// the builders of models/llama2, llama3, llama3_1, llama3_2, mistral, qwen2. All are Llama with the same modules;
// only Qwen2's rotary embedding differs (torchtune_rope.go).

// tuneDecoder is TransformerDecoder.
type tuneDecoder struct {
	net
	embed  *nn.Embedding
	layers []*tuneLayer
	norm   *tuneNorm
	output *nn.Linear // nil if the head is tied to the embeddings (TiedLinear)
	rope   *tuneRope
	packed tunePacked // the mask and positions of the current forward
}

// tunePacked holds the mask and the positions of a packed batch. Both are nil for other batches.
type tunePacked struct{ mask, positions *shadow.Tensor }

// Roped is a model whose rotary embedding can be recomputed.
type Roped interface {
	// RopeInit is rope_init() of the rotary embedding.
	RopeInit()
}

// RopeInit implements Roped.
func (m *tuneDecoder) RopeInit() { m.rope.init() }

// newTorchtune makes the decoder in the builders' order: the layers before the embedding.
func newTorchtune(b *nn.Builder, c *Config, run Run, s llamaShape) Model {
	m := &tuneDecoder{net: net{b.W, run}}
	m.rope = newTuneRope(b, c, s.dim)
	drop := c.Float("attention_dropout", 0)
	for i := range s.layers {
		l := newTuneLayer(b, m, fmt.Sprintf("layers.%d", i), s)
		l.attn.dropout = drop
		m.layers = append(m.layers, l)
	}
	m.embed = b.Embedding("tok_embeddings", s.vocab, s.hidden)
	b.First(m.embed.Weight)
	if !c.Bool("tie_word_embeddings", false) {
		m.output = b.AdaptedLinear(run.Lora, b.Output, s.hidden, s.vocab, false)
	}
	m.norm = newTuneNorm(b, "norm", s.hidden)
	if run.Lora.Rank > 0 {
		b.TrainAdapters()
	}
	return m
}

func (m *tuneDecoder) Batch() Batch { return m.textBatch() }

// Loss runs the forward. It returns nil, because the loss is computed outside the model.
func (m *tuneDecoder) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func(b.IDs)
	m.packed = tunePacked{b.Mask, b.Positions}
	h := m.embed.Call(b.IDs)
	fn.Let(h)
	for _, l := range m.layers {
		fn.Set(&h, m.layer(l, h, b.Mask, b.Positions))
	}
	m.unembed(h)
	return fn.Return(nil)
}

// unembed keeps the logits for the caller: all of them in float32, or in chunks in their own type.
func (m *tuneDecoder) unembed(h *shadow.Tensor) {
	defer m.w.As(shadow.Logits)()
	fn := m.w.Func(h)
	fn.Set(&h, m.norm.Call(h))
	c := m.run.Calling
	if c == nil || c.Chunks < 1 {
		c.keepLogits(fn.Let(m.logits(h).Float()))
		fn.Return(nil)
		return
	}
	for _, part := range h.Split(1, chunkSizes(h.Size(1), c.Chunks)...) {
		c.keepChunk(m.logits(part))
	}
	fn.Return(nil)
}

// logits is output(h).
func (m *tuneDecoder) logits(h *shadow.Tensor) *shadow.Tensor {
	if m.output == nil {
		return h.Linear(m.embed.Weight, nil)
	}
	return m.output.Call(h)
}

// chunkSizes returns the sizes of the pieces that torch.chunk makes of n elements: equal pieces, followed by a
// smaller one if there is a remainder.
func chunkSizes(n, parts int) (sizes []int) {
	for size := (n + parts - 1) / parts; n > 0; n -= size {
		sizes = append(sizes, min(size, n))
	}
	return sizes
}

// tuneLayer is TransformerSelfAttentionLayer.
type tuneLayer struct {
	shadow.Path
	attn            *tuneAttention
	mlp             *tuneMLP
	saNorm, mlpNorm *tuneNorm
}

func newTuneLayer(b *nn.Builder, m *tuneDecoder, at string, s llamaShape) *tuneLayer {
	l := &tuneLayer{Path: shadow.Path(at), attn: newTuneAttention(b, m, at+".self_attn", s)}
	l.mlp = newTuneMLP(b, m.run.Lora, at+".mlp", s)
	l.saNorm = newTuneNorm(b, at+".input_layernorm", s.hidden)
	l.mlpNorm = newTuneNorm(b, at+".post_attention_layernorm", s.hidden)
	return l
}

func (l *tuneLayer) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	h := fn.Let(l.saNorm.Call(x))
	attnOut := fn.Let(x.World().Call(l.attn, h))
	fn.Set(&h, attnOut.Add(x))
	mlpOut := fn.Let(x.World().Call(l.mlp, l.mlpNorm.Call(h)))
	return fn.Let(h.Add(mlpOut))
}

// tuneMLP is FeedForward.
type tuneMLP struct {
	shadow.Path
	gate, down, up *nn.Linear
}

func newTuneMLP(b *nn.Builder, l nn.Lora, at string, s llamaShape) *tuneMLP {
	return &tuneMLP{
		Path: shadow.Path(at),
		gate: b.AdaptedLinear(l, at+".gate_proj", s.hidden, s.inter, false),
		down: b.AdaptedLinear(l, at+".down_proj", s.inter, s.hidden, false),
		up:   b.AdaptedLinear(l, at+".up_proj", s.hidden, s.inter, false),
	}
}

func (m *tuneMLP) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	h := fn.Let(m.gate.Call(x).SiLU())
	fn.Set(&h, h.Mul(m.up.Call(x)))
	fn.Set(&h, m.down.Call(h))
	return h
}

// tuneNorm is RMSNorm: computed in float32, then cast back.
type tuneNorm struct {
	shadow.Path
	scale *shadow.Tensor
}

func newTuneNorm(b *nn.Builder, at string, width int) *tuneNorm {
	return &tuneNorm{shadow.Path(at), b.Parameter(at+".scale", width)}
}

func (n *tuneNorm) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(n, x) }

func (n *tuneNorm) Forward(_ *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	return x.Float().RMSNorm(n.scale).To(x.DType())
}
