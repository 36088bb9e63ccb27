// SPDX-License-Identifier: Apache-2.0

package family

import (
	"errors"
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// ModernBERT: transformers/models/modernbert/modeling_modernbert.py.

type modernBert struct {
	net
	vocab    int
	embed    *nn.Embedding
	norm     *nn.LayerNorm
	dropout  nn.Dropout
	layers   []*modernBertLayer
	outNorm  *nn.LayerNorm
	rotary   layerRotary
	window   int
	sliding  *shadow.Tensor // the mask of the current forward
	head     *lmHead
	classes  *classifier
	headDim  int
	attnDrop float64
}

func newModernBert(b *nn.Builder, c *Config, run Run) (Model, error) {
	if c.Bool("sparse_prediction", false) {
		return nil, errors.New("modernbert with sparse_prediction is not simulated, because the number of logits depends on the labels")
	}
	hidden := c.Positive("hidden_size", 768)
	layers := c.Int("num_hidden_layers", 22)
	bias := c.Bool("norm_bias", false)
	m := &modernBert{
		net: net{b.W, run}, vocab: c.Positive("vocab_size", 50368),
		headDim:  c.HeadDim(hidden, c.Positive("num_attention_heads", 12)),
		dropout:  nn.Dropout(c.Float("embedding_dropout", 0)),
		attnDrop: c.Float("attention_dropout", 0),
		window:   c.Positive("local_attention", 128) / 2,
	}
	every := c.Positive("global_attn_every_n_layers", 3)
	windows := c.layerWindows(layers, m.window, func(i int) bool { return i%every != 0 })

	at := m.prefix("model")
	m.embed = b.Embedding(at+"embeddings.tok_embeddings", m.vocab, hidden)
	m.norm = b.LayerNorm(at+"embeddings.norm", hidden, bias)
	for i := range layers {
		m.layers = append(m.layers, newModernBertLayer(b, c, m, fmt.Sprintf("%slayers.%d", at, i), i, hidden, windows[i]))
	}
	m.outNorm = b.LayerNorm(at+"final_norm", hidden, bias)
	m.rotary = rotaryByType(b, c, m.headDim, windows)
	if run.Head == "masked-lm" {
		m.head = &lmHead{
			dense:   b.Linear("head.dense", hidden, hidden, c.Bool("classifier_bias", false)),
			act:     c.activation("classifier_activation", "gelu"),
			norm:    b.LayerNorm("head.norm", hidden, bias),
			decoder: b.Linear("decoder", hidden, m.vocab, c.Bool("decoder_bias", true)),
		}
		if c.Bool("tie_word_embeddings", true) {
			tieDecoder(b, m.head.decoder, m.embed)
		}
	}
	if Classifies(run.Head) {
		m.classes = newModernClassifier(b, c, hidden, run)
	}
	return m, nil
}

func (m *modernBert) Batch() Batch { return m.textBatch() }

// Loss is the forward of ModernBertForMaskedLM or of a model with another head, or an embedding loss over
// ModernBertModel.
func (m *modernBert) Loss(b Batch) *shadow.Tensor {
	if m.classes != nil {
		return m.classLoss(m.classes, encoded{hidden: m.forward(b), mask: b.Mask}, b)
	}
	fn := m.w.Func()
	hidden := fn.Let(m.forward(b))
	m.run.Calling.tieState(hidden)
	if m.head == nil {
		if m.run.Calling.keepHidden(hidden) {
			return fn.Return(nil)
		}
		return fn.Return(contrastiveLoss(hidden, m.run.Rows()))
	}
	logits := fn.Let(m.head.Call(hidden)) // (B, S, V)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(maskedLMLoss(logits, b.Labels, m.vocab, m.run.Calling))
}

// forward is ModernBertModel.forward.
func (m *modernBert) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	pos := fn.Let(m.w.Arange(m.run.Seq).Unsqueeze(0))
	hidden := fn.Let(m.dropout.Call(m.norm.Call(m.embed.Call(b.IDs)))) // (B, S, H)
	fn.Let(hidden)                                                     // also in mask_kwargs
	m.paddingMask(fn, hidden, b.Mask)
	m.sliding = fn.Let(m.windowMask(hidden, b.Mask, m.window))
	m.rotary.create(fn, hidden, pos)
	for _, l := range m.layers {
		r := m.rotary.of(l.attn.window)
		fn.Set(&hidden, m.layer(l, hidden, l.attn.mask(), r.cos, r.sin))
	}
	fn.Set(&hidden, m.outNorm.Call(hidden))
	return fn.Return(hidden)
}

// modernBertLayer is ModernBertEncoderLayer. The first layer has no norm before its attention, because the
// embeddings end with a norm.
type modernBertLayer struct {
	shadow.Path
	attnNorm, mlpNorm *nn.LayerNorm
	attn              *modernBertAttention
	mlp               *modernBertMLP
}

func newModernBertLayer(b *nn.Builder, c *Config, m *modernBert, at string, i, hidden, window int) *modernBertLayer {
	l := &modernBertLayer{Path: shadow.Path(at)}
	bias, inter := c.Bool("norm_bias", false), c.Positive("intermediate_size", 1152)
	attnBias, mlpBias := c.Bool("attention_bias", false), c.Bool("mlp_bias", false)
	if i > 0 {
		l.attnNorm = b.LayerNorm(at+".attn_norm", hidden, bias)
	}
	l.attn = &modernBertAttention{
		Path: shadow.Path(at + ".attn"), m: m, window: window,
		qkv: b.Linear(at+".attn.Wqkv", hidden, 3*hidden, attnBias),
		out: b.Linear(at+".attn.Wo", hidden, hidden, attnBias),
	}
	l.mlpNorm = b.LayerNorm(at+".mlp_norm", hidden, bias)
	l.mlp = &modernBertMLP{
		Path: shadow.Path(at + ".mlp"), act: c.activation("hidden_activation", "gelu"),
		dropout: nn.Dropout(c.Float("mlp_dropout", 0)),
		in:      b.Linear(at+".mlp.Wi", hidden, 2*inter, mlpBias),
		out:     b.Linear(at+".mlp.Wo", inter, hidden, mlpBias),
	}
	return l
}

func (l *modernBertLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w, x := hidden.World(), hidden
	if l.attnNorm != nil {
		x = l.attnNorm.Call(hidden)
	}
	out, _ := fn.Let2(w.Call2(l.attn, x))
	fn.Set(&hidden, hidden.Add(out))
	fn.Set(&hidden, hidden.Add(w.Call(l.mlp, l.mlpNorm.Call(hidden))))
	return hidden
}

type modernBertAttention struct {
	shadow.Path
	m        *modernBert
	qkv, out *nn.Linear
	window   int // 0 means no window
}

// mask returns the mask of the current forward.
func (a *modernBertAttention) mask() *shadow.Tensor {
	if a.window > 0 {
		return a.m.sliding
	}
	return a.m.run.Calling.paddingOf()
}

func (a *modernBertAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	qkv := fn.Let(a.qkv.Call(hidden))
	fn.Set(&qkv, qkv.View(B, S, 3, -1, a.m.headDim))
	parts := qkv.Unbind(-3) // (B, S, H, D)
	query, key, value := fn.Let(parts[0]), fn.Let(parts[1]), fn.Let(parts[2])
	fn.Set(&query, query.Transpose(1, 2)) // (B, H, S, D)
	fn.Set(&key, key.Transpose(1, 2))
	fn.Set(&value, value.Transpose(1, 2))

	r := a.m.rotary.of(a.window)
	q, k := applyRotaryWide(query, key, r.cos, r.sin)
	fn.Set2(&query, q, &key, k)

	out, weights := fn.Let2(a.m.attention(query, key, value, attending{mask: a.mask(), dropout: a.m.attnDrop}))
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.out.Call(out).Dropout(a.m.attnDrop))
	return out, weights
}

// applyRotaryWide is ModernBERT's apply_rotary_pos_emb: it rotates in float32 and casts back.
func applyRotaryWide(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	dtype := q.DType()
	fn := q.World().Func(q, k, cos, sin)
	fn.Set(&cos, cos.Unsqueeze(1))
	fn.Set(&sin, sin.Unsqueeze(1))
	qe := fn.Let(q.Float().Mul(cos).Add(rotateHalf(q.Float()).Mul(sin)))
	ke := fn.Let(k.Float().Mul(cos).Add(rotateHalf(k.Float()).Mul(sin)))
	return fn.Return2(qe.To(dtype), ke.To(dtype))
}

// modernBertMLP is a gated MLP that computes both halves in one product.
type modernBertMLP struct {
	shadow.Path
	in, out *nn.Linear
	act     activation
	dropout nn.Dropout
}

func (m *modernBertMLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	halves := m.in.Call(hidden).Chunk(2, -1)
	input, gate := fn.Let(halves[0]), fn.Let(halves[1])
	return m.out.Call(m.dropout.Call(m.act(input).Mul(gate)))
}
