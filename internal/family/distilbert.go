// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// DistilBERT: transformers/models/distilbert/modeling_distilbert.py.

type distilBert struct {
	net
	vocab          int
	word, position *nn.Embedding
	norm           *nn.LayerNorm
	dropout        nn.Dropout
	positionIDs    *shadow.Tensor
	layers         []*distilLayer
	head           *lmHead
	classes        *classifier
}

func newDistilBert(b *nn.Builder, c *Config, run Run) (Model, error) {
	dim := c.Positive("dim", c.Positive("hidden_size", 768))
	heads := c.Positive("n_heads", c.Positive("num_attention_heads", 12))
	layers := c.Int("n_layers", c.Int("num_hidden_layers", 6))
	inner := c.Positive("hidden_dim", 4*768)
	places := c.Positive("max_position_embeddings", 512)
	act := c.activation("activation", "gelu")
	m := &distilBert{net: net{b.W, run}, vocab: c.Positive("vocab_size", 30522), dropout: nn.Dropout(c.Float("dropout", 0.1))}

	at := m.prefix("distilbert")
	m.word = b.Embedding(at+"embeddings.word_embeddings", m.vocab, dim)
	m.position = b.Embedding(at+"embeddings.position_embeddings", places, dim)
	m.norm = b.LayerNorm(at+"embeddings.LayerNorm", dim, true)
	m.positionIDs = b.BufferAt(at+"embeddings.position_ids", shadow.Int64, 1, places)
	for i := range layers {
		at := fmt.Sprintf("%stransformer.layer.%d", at, i)
		m.layers = append(m.layers, &distilLayer{
			Path: shadow.Path(at),
			attn: &distilAttention{
				Path: shadow.Path(at + ".attention"), net: m.net,
				headDim: c.HeadDim(dim, heads), dropout: c.Float("attention_dropout", 0.1),
				q:   b.Linear(at+".attention.q_lin", dim, dim, true),
				k:   b.Linear(at+".attention.k_lin", dim, dim, true),
				v:   b.Linear(at+".attention.v_lin", dim, dim, true),
				out: b.Linear(at+".attention.out_lin", dim, dim, true),
			},
			attnNorm: b.LayerNorm(at+".sa_layer_norm", dim, true),
			ffn: &distilFFN{
				Path: shadow.Path(at + ".ffn"), act: act, dropout: m.dropout,
				lin1: b.Linear(at+".ffn.lin1", dim, inner, true),
				lin2: b.Linear(at+".ffn.lin2", inner, dim, true),
			},
			outNorm: b.LayerNorm(at+".output_layer_norm", dim, true),
		})
	}
	if c.Bool("sinusoidal_pos_embds", false) {
		b.Scratch(b.DType, places, dim)
	}
	b.Scratch(shadow.Int64, places) // _init_weights copies an arange into position_ids
	if run.Head == "masked-lm" {
		m.head = &lmHead{
			dense:   b.Linear("vocab_transform", dim, dim, true),
			act:     act,
			norm:    b.LayerNorm("vocab_layer_norm", dim, true),
			decoder: b.Linear("vocab_projector", dim, m.vocab, true),
		}
		if c.Bool("tie_word_embeddings", true) {
			tieDecoder(b, m.head.decoder, m.word)
		}
	}
	if Classifies(run.Head) {
		m.classes = newDistilClassifier(b, c, dim, m)
	}
	return m, nil
}

func (m *distilBert) Batch() Batch { return m.textBatch() }

// Loss is the forward of DistilBertForMaskedLM or of a model with another head, or an embedding loss over
// DistilBertModel.
func (m *distilBert) Loss(b Batch) *shadow.Tensor {
	return m.encoderLoss(encoded{hidden: m.forward(b), mask: b.Mask}, m.head, m.classes, b, m.vocab)
}

// forward is DistilBertModel.forward.
func (m *distilBert) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.embed(b.IDs)) // (B, S, H)
	m.paddingMask(fn, embeds, b.Mask)
	hidden := fn.Let(embeds)
	for _, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden))
	}
	return fn.Return(hidden)
}

func (m *distilBert) embed(ids *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(ids)
	embeds := fn.Let(m.word.Call(ids))
	placed := fn.Let(m.position.Call(m.positionIDs.Slice(1, 0, m.run.Seq))) // (1, S, H)
	hidden := fn.Let(embeds.Add(placed))
	fn.Set(&hidden, m.norm.Call(hidden))
	fn.Set(&hidden, m.dropout.Call(hidden))
	return fn.Return(hidden)
}

// distilLayer is TransformerBlock.
type distilLayer struct {
	shadow.Path
	attn              *distilAttention
	attnNorm, outNorm *nn.LayerNorm
	ffn               *distilFFN
}

func (l *distilLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	attended, _ := fn.Let2(w.Call2(l.attn, hidden))
	fn.Set(&attended, l.attnNorm.Call(attended.Add(hidden)))
	out := fn.Let(w.Call(l.ffn, attended))
	fn.Set(&out, l.outNorm.Call(out.Add(attended)))
	return out
}

type distilAttention struct {
	shadow.Path
	net
	q, k, v, out *nn.Linear
	headDim      int
	dropout      float64
}

func (a *distilAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, H, S, D)
	key := fn.Let(a.k.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))
	value := fn.Let(a.v.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))
	out, weights := fn.Let2(a.bothWays(query, key, value, a.dropout)) // (B, S, H, D)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.out.Call(out))
	return out, weights
}

type distilFFN struct {
	shadow.Path
	lin1, lin2 *nn.Linear
	act        func(*shadow.Tensor) *shadow.Tensor
	dropout    nn.Dropout
}

func (f *distilFFN) Forward(fn *shadow.Frame, input *shadow.Tensor) *shadow.Tensor {
	x := fn.Let(f.lin1.Call(input))
	fn.Set(&x, f.act(x))
	fn.Set(&x, f.lin2.Call(x))
	fn.Set(&x, f.dropout.Call(x))
	return x
}
