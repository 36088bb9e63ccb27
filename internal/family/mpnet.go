// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// MPNet: transformers/models/mpnet/modeling_mpnet.py. BERT with one learned relative position bias that every
// layer adds to its scores. Attention never uses a fused kernel.

type mpnet struct {
	net
	vocab          int
	word, position *nn.Embedding
	norm           *nn.LayerNorm
	dropout        nn.Dropout
	layers         []*mpnetLayer
	relative       *nn.Embedding
	pooler         *bertPooler
	head           *lmHead
	classes        *classifier
}

func newMPNet(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Checkpointing {
		return nil, refuse("checkpointing", "mpnet does not support gradient checkpointing in transformers")
	}
	cfg := readBert(c, 30527)
	m := &mpnet{net: net{b.W, run}, vocab: cfg.vocab, dropout: nn.Dropout(cfg.dropout)}
	at := m.prefix("mpnet")
	m.word = b.Embedding(at+"embeddings.word_embeddings", cfg.vocab, cfg.hidden)
	m.position = b.Embedding(at+"embeddings.position_embeddings", cfg.positions, cfg.hidden)
	m.norm = b.LayerNorm(at+"embeddings.LayerNorm", cfg.hidden, true)
	b.BufferAt(at+"embeddings.position_ids", shadow.Int64, 1, cfg.positions)
	for i := range cfg.layers {
		m.layers = append(m.layers, newMPNetLayer(b, fmt.Sprintf("%sencoder.layer.%d", at, i), cfg))
	}
	m.relative = b.Embedding(at+"encoder.relative_attention_bias", c.Positive("relative_attention_num_buckets", 32), cfg.heads)
	if run.Head == Encoder && !cfg.unpooled || run.Head == MultipleChoice {
		m.pooler = newBertPooler(b, at+"pooler", cfg.hidden)
	}
	b.Scratch(shadow.Int64, cfg.positions) // _init_weights copies an arange into position_ids
	if run.Head == "masked-lm" {
		cfg.act = (*shadow.Tensor).GELU
		m.head = newBertHead(b, "lm_head", ".dense", ".layer_norm", cfg, m.word)
	}
	if Classifies(run.Head) {
		m.classes = newRobertaClassifier(b, c, cfg, m.dropout, run)
	}
	return m, nil
}

func (m *mpnet) Batch() Batch { return m.textBatch() }

// Loss is the forward of MPNetForMaskedLM or of a model with another head, or an embedding loss over MPNetModel.
func (m *mpnet) Loss(b Batch) *shadow.Tensor {
	hidden, pooled := m.forward(b)
	return m.encoderLoss(encoded{hidden: hidden, pooled: pooled, mask: b.Mask}, m.head, m.classes, b, m.vocab)
}

// forward is MPNetModel.forward. It returns the pooler's output if a head uses it.
func (m *mpnet) forward(b Batch) (hidden, pooled *shadow.Tensor) {
	fn := m.w.Func()
	embeds := fn.Let(m.embed(b.IDs)) // (B, S, H)
	m.bidirectionalMask(b.Mask)
	hidden = fn.Let(m.encode(embeds))
	if m.pooler != nil {
		pooled = fn.Let(m.w.Call(m.pooler, hidden))
	}
	if m.pooler != nil && m.classes == nil {
		m.run.Calling.keepPooled(pooled)
		pooled = nil
	}
	return fn.Return2(hidden, pooled)
}

func (m *mpnet) embed(ids *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(ids)
	positions := fn.Let(positionsFrom(ids, false)) // (B, S)
	embeds := fn.Let(m.word.Call(ids))
	placed := fn.Let(m.position.Call(positions))
	hidden := fn.Let(embeds.Add(placed))
	fn.Set(&hidden, m.norm.Call(hidden))
	fn.Set(&hidden, m.dropout.Call(hidden))
	return fn.Return(hidden)
}

// encode is MPNetEncoder.forward.
func (m *mpnet) encode(hidden *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(hidden)
	bias := fn.Let(m.positionBias())
	for _, l := range m.layers {
		l.attn.bias = bias
		fn.Set(&hidden, m.layer(l, hidden))
	}
	return fn.Return(hidden)
}

// positionBias is compute_position_bias. The buckets are computed on the CPU and copied to the GPU in one piece.
func (m *mpnet) positionBias() *shadow.Tensor {
	fn := m.w.Func()
	B, S := m.run.Batch, m.run.Seq
	buckets := fn.Let(m.w.Full(shadow.Int64, S, S))
	values := fn.Let(m.relative.Call(buckets)) // (S, S, H)
	fn.Set(&values, values.Permute(2, 0, 1).Unsqueeze(0))
	fn.Set(&values, values.Expand(B, -1, S, S).Contiguous()) // (B, H, S, S)
	return fn.Return(values)
}

type mpnetLayer struct {
	shadow.Path
	attn         *mpnetAttention
	attnNorm     *nn.LayerNorm
	dropout      nn.Dropout
	intermediate *bertIntermediate
	output       *bertOutput
}

func newMPNetLayer(b *nn.Builder, at string, cfg bertConfig) *mpnetLayer {
	attn := at + ".attention.attn"
	return &mpnetLayer{
		Path: shadow.Path(at),
		attn: &mpnetAttention{
			Path: shadow.Path(attn), headDim: cfg.headDim, dropout: nn.Dropout(cfg.attnDropout),
			q: b.Linear(attn+".q", cfg.hidden, cfg.heads*cfg.headDim, true),
			k: b.Linear(attn+".k", cfg.hidden, cfg.heads*cfg.headDim, true),
			v: b.Linear(attn+".v", cfg.hidden, cfg.heads*cfg.headDim, true),
			o: b.Linear(attn+".o", cfg.hidden, cfg.hidden, true),
		},
		attnNorm:     b.LayerNorm(at+".attention.LayerNorm", cfg.hidden, true),
		dropout:      nn.Dropout(cfg.dropout),
		intermediate: newBertIntermediate(b, at+".intermediate", cfg),
		output:       newBertOutput(b, at+".output", cfg.inter, cfg),
	}
}

func (l *mpnetLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	attended := fn.Let(l.attend(hidden))
	inner := fn.Let(w.Call(l.intermediate, attended)) // (B, S, I)
	return l.output.Call(inner, attended)
}

// attend is MPNetAttention.forward.
func (l *mpnetLayer) attend(hidden *shadow.Tensor) *shadow.Tensor {
	fn := hidden.World().Func(hidden)
	out := fn.Let(hidden.World().Call(l.attn, hidden))
	return fn.Return(l.attnNorm.Call(l.dropout.Call(out).Add(hidden)))
}

// mpnetAttention is MPNetSelfAttention.
type mpnetAttention struct {
	shadow.Path
	q, k, v, o *nn.Linear
	headDim    int
	dropout    nn.Dropout
	bias       *shadow.Tensor // for the current forward
}

func (a *mpnetAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	B, S := hidden.Size(0), hidden.Size(1)
	q := fn.Let(a.q.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, H, S, D)
	k := fn.Let(a.k.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))
	v := fn.Let(a.v.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))
	scores := fn.Let(q.Matmul(k.Transpose(-1, -2))) // (B, H, S, S)
	fn.Set(&scores, scores.DivScalar())
	fn.Set(&scores, scores.AddInPlace(a.bias))
	probs := fn.Let(scores.Softmax(shadow.None))
	fn.Set(&probs, a.dropout.Call(probs))
	c := fn.Let(probs.Matmul(v)) // (B, H, S, D)
	fn.Set(&c, c.Permute(0, 2, 1, 3).Contiguous())
	fn.Set(&c, c.View(B, S, -1))
	return a.o.Call(c)
}
