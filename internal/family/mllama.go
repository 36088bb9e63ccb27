// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Llama 3.2 Vision: transformers/models/mllama/modeling_mllama.py. Some of Llama's layers attend to the features of images
// instead of the text; on text alone they are skipped.

type mllama struct {
	*llama
	vision    *mllamaVision
	projector *nn.Linear
	crossed   []int          // layers that attend to images
	states    *shadow.Tensor // cross_attention_states of the current forward
	mask      *shadow.Tensor // cross_attention_mask
	rows      *shadow.Tensor // full_text_row_masked_out_mask
}

func newMllama(b *nn.Builder, c *Config, run Run) (Model, error) {
	v, t := c.within("vision_config"), c.within("text_config")
	m := &mllama{vision: newMllamaVision(b, v, run, "model.vision_model"), crossed: t.Ints("cross_attention_layers")}
	if m.crossed == nil && !t.Has("cross_attention_layers") {
		m.crossed = []int{3, 8, 13, 18, 23, 28, 33, 38}
	}
	if run.Attention == "flash" {
		return nil, refuse("attention", "flash attention is not simulated for Llama 3.2 Vision, whose images need a mask; use sdpa")
	}
	s := readDecoder(t, llamaShape{hidden: 4096, layers: 40, heads: 32, kv: 8, inter: 14336, vocab: 128256})
	s.dim = t.HeadDim(s.hidden, s.heads)
	vocab, act := s.vocab, t.activation("hidden_act", "silu")
	s.vocab += 8
	run.path = "model.language_model"
	m.llama = newStack(b, run, s, func(text *llama, i int, at string) shadow.Module {
		if slices.Contains(m.crossed, i) {
			return newMllamaCrossLayer(b, m, text.net, at, s, t)
		}
		attn := newLlamaAttention(b, text, at+".self_attn", s)
		attn.dropout = t.Float("dropout", 0)
		return &llamaLayer{
			Path: shadow.Path(at), attn: &qwenVLAttention{attn}, mlp: newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act),
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden), postNorm: newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.norm = newRMSNorm(b, run, run.at("norm"), s.hidden)
	m.llama.rotary = sharedRotary(b, t, s.dim)
	width := m.vision.size.width * (1 + len(m.vision.intermediate))
	if out := v.Positive("vision_output_dim", 7680); out != width {
		v.fail("vision_output_dim", "hidden_size times one more than the number of intermediate_layers_indices")
	}
	m.projector = b.Linear("model.multi_modal_projector", width, s.hidden, true)
	m.head = newHead(b, c, run, s.hidden, vocab, false)
	b.Inputs(m.llama.embed)
	return m, nil
}

// Batch makes the tensors that MllamaProcessor returns.
func (m *mllama) Batch() Batch {
	if m.run.Images.Count == 0 {
		return m.textBatch()
	}
	B, n, s := m.run.Batch, m.run.Images.Count, m.vision.size
	b := Batch{IDs: m.w.Input(shadow.Int64, B, m.run.Seq)}
	if m.run.Mask {
		b.Mask = m.w.Input(shadow.Int64, B, m.run.Seq)
	}
	b.Kinds = m.w.Input(shadow.Int64, B, m.run.Seq, n, m.vision.tiles) // cross_attention_mask
	b.Pixels = m.w.Input(shadow.Float32, B, n, m.vision.tiles, s.channels, s.image, s.image)
	b.Grid = m.w.Input(shadow.Int64, B, n)                  // aspect_ratio_ids
	b.Tiles = m.w.Input(shadow.Int64, B, n, m.vision.tiles) // aspect_ratio_mask
	b.Labels = m.w.Input(shadow.Int64, B, m.run.Seq)
	return b
}

// Loss is MllamaForConditionalGeneration.forward.
func (m *mllama) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is MllamaModel.forward.
func (m *mllama) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	m.states, m.mask, m.rows = nil, nil, nil
	m.w.Local(&m.states)
	m.w.Local(&m.mask)
	m.w.Local(&m.rows)
	if b.Pixels != nil {
		outputs := fn.Let(m.vision.forward(b.Pixels, b.Grid, b.Tiles))
		fn.Set(&m.states, m.projector.Call(outputs).Reshape(-1, outputs.Size(3), m.projector.Weight.Size(0)))
		mask, rows := m.crossMask(b.Kinds)
		fn.Set2(&m.mask, mask, &m.rows, rows)
		current := fn.Let(m.w.Arange(m.run.Seq).AddScalar())
		fn.Set(&m.mask, m.mask.IndexAt(2, current))
		fn.Set(&m.rows, m.rows.IndexAt(2, current))
	}
	return fn.Return(m.decode(b))
}

// crossMask is _prepare_cross_attention_mask: a float mask, and which rows of it see any tile.
func (m *mllama) crossMask(mask *shadow.Tensor) (_, rows *shadow.Tensor) {
	fn := m.w.Func(mask)
	B, S, dt := mask.Size(0), mask.Size(1), m.vision.class.DType()
	fn.Set(&mask, mask.RepeatInterleave(m.vision.positions.count, 3))
	fn.Set(&mask, mask.View(B, S, -1))
	fn.Set(&mask, mask.Unsqueeze(1))
	inverted := fn.Let(mask.Plain("rsub", shadow.Float32).To(dt))
	fn.Set(&mask, inverted.MaskedFill(inverted.To(shadow.Bool)))
	rows = fn.Let(mask.Compare("ne").Any(false, -1).To(dt).Unsqueeze(3))
	return fn.Return2(mask, rows) // which is multiplied by rows in place
}

// decode is MllamaTextModel.forward.
func (m *mllama) decode(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	hidden := fn.Let(embeds)
	pos := positions(fn, m.w, m.run.Seq)
	m.masks.create(fn, m.net, embeds, b.Mask, pos)
	m.llama.rotary.create(fn, hidden, pos)
	r := m.llama.rotary.full
	for i, l := range m.layers {
		if slices.Contains(m.crossed, i) && m.states == nil {
			continue
		}
		fn.Set(&hidden, m.layer(l, hidden, m.states, m.mask, m.masks.full, m.rows, pos, r.cos, r.sin))
	}
	fn.Set(&hidden, m.w.Call(m.norm, hidden))
	return fn.Return(hidden)
}

// mllamaCrossLayer is MllamaCrossAttentionDecoderLayer.
type mllamaCrossLayer struct {
	shadow.Path
	m                 *mllama
	attn              *mllamaCrossAttention
	input, postAttn   *rmsNorm
	mlp               *llamaMLP
	gateAttn, gateMLP *shadow.Tensor
}

func newMllamaCrossLayer(b *nn.Builder, m *mllama, n net, at string, s llamaShape, c *Config) *mllamaCrossLayer {
	l := &mllamaCrossLayer{Path: shadow.Path(at), m: m, attn: newMllamaCrossAttention(b, m, n, at+".cross_attn", s, c)}
	l.input = newRMSNorm(b, n.run, at+".input_layernorm", s.hidden)
	l.gateAttn = b.Parameter(at+".cross_attn_attn_gate", 1)
	l.mlp = newLlamaMLP(b, n.run, at+".mlp", s.hidden, s.inter, false, c.activation("hidden_act", "silu"))
	l.postAttn = newRMSNorm(b, n.run, at+".post_attention_layernorm", s.hidden)
	l.gateMLP = b.Parameter(at+".cross_attn_mlp_gate", 1)
	return l
}

func (l *mllamaCrossLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.input.Call(hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, residual.AddOf(func() *shadow.Tensor { return l.gateAttn.Tanh().Mul(hidden) }))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.postAttn.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, l.m.rows.Select(1, 0).Mul(hidden))
	fn.Set(&hidden, residual.AddOf(func() *shadow.Tensor { return l.gateMLP.Tanh().Mul(hidden) }))
	return hidden
}

// mllamaCrossAttention is MllamaTextCrossAttention.
type mllamaCrossAttention struct {
	shadow.Path
	net
	m            *mllama
	q, k, v, o   *nn.Linear
	qNorm, kNorm *rmsNorm
	dim          int
	dropout      float64
}

func newMllamaCrossAttention(b *nn.Builder, m *mllama, n net, at string, s llamaShape, c *Config) *mllamaCrossAttention {
	return &mllamaCrossAttention{
		Path: shadow.Path(at), net: n, m: m, dim: s.dim, dropout: c.Float("dropout", 0),
		q: b.Linear(at+".q_proj", s.hidden, s.heads*s.dim, false), k: b.Linear(at+".k_proj", s.hidden, s.kv*s.dim, false),
		v: b.Linear(at+".v_proj", s.hidden, s.kv*s.dim, false), o: b.Linear(at+".o_proj", s.heads*s.dim, s.hidden, false),
		qNorm: newRMSNorm(b, n.run, at+".q_norm", s.dim), kNorm: newRMSNorm(b, n.run, at+".k_norm", s.dim),
	}
}

func (a *mllamaCrossAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden))
	fn.Set(&query, query.View(B, S, -1, a.dim).Transpose(1, 2)) // (B, H, S, D)
	fn.Set(&query, a.qNorm.Call(query))
	key, value := fn.Let(a.k.Call(a.m.states)), fn.Let(a.v.Call(a.m.states))
	fn.Set(&key, key.View(B, -1, a.k.Weight.Size(0)/a.dim, a.dim).Transpose(1, 2))
	fn.Set(&value, value.View(B, -1, a.v.Weight.Size(0)/a.dim, a.dim).Transpose(1, 2))
	fn.Set(&key, a.kNorm.Call(key))
	out, weights := a.attention(query, key, value, attending{mask: a.m.mask, dropout: a.dropout}) // (B, S, H, D)
	fn.Let(out)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}
