// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// ALBERT: transformers/models/albert/modeling_albert.py. All layers, or those of a group, share their weights.

type albert struct {
	net
	vocab      int
	embeddings *bertEmbeddings
	mapping    *nn.Linear // from the embedding width to the hidden size
	layers     int
	groups     [][]*albertLayer
	pooler     *nn.Linear
	head       *lmHead
	classes    *classifier
}

func newAlbert(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Checkpointing {
		return nil, refuse("checkpointing", "albert does not support gradient checkpointing in transformers")
	}
	cfg := readAlbert(c)
	m := &albert{net: net{b.W, run}, vocab: cfg.vocab, layers: cfg.layers}
	at := m.prefix("albert")
	m.embeddings = newBertEmbeddings(b, at+"embeddings", cfg)
	m.mapping = b.Linear(at+"encoder.embedding_hidden_mapping_in", cfg.embedding, cfg.hidden, true)
	for i := range c.Positive("num_hidden_groups", 1) {
		var group []*albertLayer
		for j := range c.Positive("inner_group_num", 1) {
			group = append(group, newAlbertLayer(b, m.net, fmt.Sprintf("%sencoder.albert_layer_groups.%d.albert_layers.%d", at, i, j), cfg))
		}
		m.groups = append(m.groups, group)
	}
	if run.Head == Encoder && !cfg.unpooled || scoresTexts(run.Head) {
		m.pooler = b.Linear(at+"pooler", cfg.hidden, cfg.hidden, true)
	}
	b.Scratch(shadow.Int64, cfg.positions) // _init_weights copies an arange into position_ids
	switch {
	case run.Head == MaskedLM:
		m.head = newAlbertHead(b, cfg, m.embeddings.word)
	case Classifies(run.Head):
		m.classes = newTokenClassifier(b, c, cfg.hidden, nn.Dropout(c.Float("classifier_dropout_prob", 0.1)), run)
	}
	return m, nil
}

func readAlbert(c *Config) bertConfig {
	cfg := readBertOf(c, bertConfig{vocab: 30000, hidden: 4096, heads: 64, inter: 16384})
	cfg.embedding = c.Positive("embedding_size", 128)
	cfg.act = c.activation("hidden_act", "gelu_new")
	cfg.dropout = c.Float("hidden_dropout_prob", 0)
	cfg.attnDropout = c.Float("attention_probs_dropout_prob", 0)
	return cfg
}

// newAlbertHead makes AlbertMLMHead.
func newAlbertHead(b *nn.Builder, cfg bertConfig, word *nn.Embedding) *lmHead {
	h := &lmHead{Path: "predictions", act: cfg.act}
	h.norm = b.LayerNorm("predictions.LayerNorm", cfg.embedding, true)
	h.bias = b.Parameter("predictions.bias", cfg.vocab)
	h.dense = b.Linear("predictions.dense", cfg.hidden, cfg.embedding, true)
	h.decoder = b.Linear("predictions.decoder", cfg.embedding, cfg.vocab, true)
	if cfg.tie {
		h.tie(b, word)
	}
	return h
}

func (m *albert) Batch() Batch { return m.textBatch() }

// Loss is the forward of AlbertForMaskedLM or of a model with another head, or an embedding loss over
// AlbertModel.
func (m *albert) Loss(b Batch) *shadow.Tensor {
	hidden, pooled := m.forward(b)
	return m.encoderLoss(encoded{hidden: hidden, pooled: pooled, mask: b.Mask}, m.head, m.classes, b, m.vocab)
}

// forward is AlbertModel.forward. It returns the pooler's output if a head uses it.
func (m *albert) forward(b Batch) (hidden, pooled *shadow.Tensor) {
	fn := m.w.Func()
	embeds := fn.Let(m.embeddings.forward(m.net, b.IDs)) // (B, S, E)
	m.paddingMask(fn, embeds, b.Mask)
	hidden = fn.Let(m.encode(embeds))
	if m.pooler != nil {
		pooled = fn.Let(m.pooler.Call(hidden.Select(1, 0)).Tanh())
	}
	if m.classes == nil {
		m.run.Calling.keepPooled(pooled)
		pooled = nil
	}
	return fn.Return2(hidden, pooled)
}

// encode is AlbertTransformer.forward.
func (m *albert) encode(hidden *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(hidden)
	fn.Set(&hidden, m.mapping.Call(hidden)) // (B, S, H)
	for i := range m.layers {
		fn.Set(&hidden, m.group(m.groups[i*len(m.groups)/m.layers], hidden))
	}
	return fn.Return(hidden)
}

// group is AlbertLayerGroup.forward.
func (m *albert) group(layers []*albertLayer, hidden *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(hidden)
	for _, l := range layers {
		input := hidden
		fn.Set(&hidden, m.w.Call(l, hidden))
		m.keepState(input, hidden)
	}
	return fn.Return(hidden)
}

type albertLayer struct {
	shadow.Path
	norm           *nn.LayerNorm
	attention      *albertAttention
	ffn, ffnOutput *nn.Linear
	act            activation
}

func newAlbertLayer(b *nn.Builder, n net, at string, cfg bertConfig) *albertLayer {
	l := &albertLayer{Path: shadow.Path(at), act: cfg.act}
	l.norm = b.LayerNorm(at+".full_layer_layer_norm", cfg.hidden, true)
	self := &bertSelfAttention{
		Path: shadow.Path(at + ".attention"), net: n, headDim: cfg.headDim, dropout: cfg.attnDropout,
		query: b.Linear(at+".attention.query", cfg.hidden, cfg.heads*cfg.headDim, true),
		key:   b.Linear(at+".attention.key", cfg.hidden, cfg.heads*cfg.headDim, true),
		value: b.Linear(at+".attention.value", cfg.hidden, cfg.heads*cfg.headDim, true),
	}
	l.attention = &albertAttention{
		bertSelfAttention: self, drop: nn.Dropout(cfg.dropout),
		dense: b.Linear(at+".attention.dense", cfg.hidden, cfg.hidden, true),
		norm:  b.LayerNorm(at+".attention.LayerNorm", cfg.hidden, true),
	}
	l.ffn = b.Linear(at+".ffn", cfg.hidden, cfg.inter, true)
	l.ffnOutput = b.Linear(at+".ffn_output", cfg.inter, cfg.hidden, true)
	return l
}

func (l *albertLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	attended, _ := fn.Let2(hidden.World().Call2(l.attention, hidden))
	feed := fn.Let(l.feed(attended))
	fn.Set(&hidden, l.norm.Call(feed.Add(attended)))
	return hidden
}

// feed is ff_chunk.
func (l *albertLayer) feed(attended *shadow.Tensor) *shadow.Tensor {
	fn := attended.World().Func(attended)
	out := fn.Let(l.ffn.Call(attended)) // (B, S, I)
	fn.Set(&out, l.act(out))
	fn.Set(&out, l.ffnOutput.Call(out))
	return fn.Return(out)
}

// albertAttention is AlbertAttention: BERT's self-attention with its output in one module.
type albertAttention struct {
	*bertSelfAttention
	dense *nn.Linear
	norm  *nn.LayerNorm
	drop  nn.Dropout
}

func (a *albertAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	out, weights := a.bertSelfAttention.Forward(fn, hidden) // the nested forward uses this frame
	fn.Set(&out, a.dense.Call(out))
	fn.Set(&out, a.drop.Call(out))
	fn.Set(&out, a.norm.Call(hidden.Add(out)))
	return out, weights
}
