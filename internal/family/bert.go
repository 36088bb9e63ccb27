// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// BERT: transformers/models/bert/modeling_bert.py. RoBERTa has the same
// layers, MPNet some of them.

// bertConfig holds the config keys that BERT-like families share.
type bertConfig struct {
	vocab, hidden, layers, heads, headDim int
	embedding                             int // embedding width; hidden unless a family has its own key
	inter, positions, types               int
	act                                   func(*shadow.Tensor) *shadow.Tensor
	dropout, attnDropout                  float64
	tie                                   bool
	unpooled                              bool // add_pooling_layer is off
}

// readBert reads a bertConfig with BERT's sizes as defaults.
func readBert(c *Config, vocab int) bertConfig {
	b := readBertOf(c, bertConfig{vocab: vocab, hidden: 768, heads: 12, inter: 3072})
	b.types = c.Positive("type_vocab_size", 2)
	return b
}

// readBertOf reads a bertConfig with other default sizes.
func readBertOf(c *Config, usual bertConfig) bertConfig {
	b := bertConfig{
		vocab:       c.Positive("vocab_size", usual.vocab),
		hidden:      c.Positive("hidden_size", usual.hidden),
		layers:      c.Int("num_hidden_layers", 12),
		heads:       c.Positive("num_attention_heads", usual.heads),
		inter:       c.Positive("intermediate_size", usual.inter),
		positions:   c.Positive("max_position_embeddings", 512),
		types:       c.Int("type_vocab_size", 2),
		act:         c.activation("hidden_act", "gelu"),
		dropout:     c.Float("hidden_dropout_prob", 0.1),
		attnDropout: c.Float("attention_probs_dropout_prob", 0.1),
		tie:         c.Bool("tie_word_embeddings", true),
		unpooled:    !c.Bool("add_pooling_layer", true),
	}
	b.headDim = c.HeadDim(b.hidden, b.heads)
	b.embedding = b.hidden
	return b
}

type bert struct {
	net
	vocab      int
	embeddings embedder
	project    *nn.Linear // from the embedding width, if it differs
	layers     []*bertLayer
	pooler     *bertPooler
	head       *lmHead
	classes    *classifier
}

// embedder turns token ids into the first hidden states.
type embedder interface {
	forward(n net, ids *shadow.Tensor) *shadow.Tensor
}

func newBert(b *nn.Builder, c *Config, run Run) (Model, error) {
	cfg := readBert(c, 30522)
	m := newBertModel(b, cfg, run)
	if Classifies(run.Head) {
		m.classes = newTokenClassifier(b, c, cfg.hidden, c.classDropout(cfg.dropout), run)
	}
	return m, nil
}

func newBertModel(b *nn.Builder, cfg bertConfig, run Run) *bert {
	m := &bert{net: net{b.W, run}, vocab: cfg.vocab}
	at := m.prefix("bert")
	emb := newBertEmbeddings(b, at+"embeddings", cfg)
	m.embeddings = emb
	m.build(b, at, cfg, run.Head == Encoder && !cfg.unpooled || scoresTexts(run.Head))
	if run.Head == "masked-lm" {
		m.head = newBertHead(b, "cls.predictions", ".transform.dense", ".transform.LayerNorm", cfg, emb.word)
	}
	return m
}

// build makes everything after the embeddings: the layers, and the pooler if there is one.
func (m *bert) build(b *nn.Builder, at string, cfg bertConfig, pools bool) {
	m.layers = newBertLayers(b, m.net, at+"encoder.layer", cfg)
	if pools {
		m.pooler = newBertPooler(b, at+"pooler", cfg.hidden)
	}
	b.Scratch(shadow.Int64, cfg.positions) // _init_weights copies an arange into position_ids
}

func (m *bert) Batch() Batch { return m.textBatch() }

// Loss is the forward of BertForMaskedLM or of a model with another head, or an embedding loss over BertModel.
func (m *bert) Loss(b Batch) *shadow.Tensor {
	hidden, pooled := m.forward(b)
	return m.encoderLoss(encoded{hidden: hidden, pooled: pooled, mask: b.Mask}, m.head, m.classes, b, m.vocab)
}

// forward is BertModel.forward. It returns the pooler's output if a head uses it.
func (m *bert) forward(b Batch) (hidden, pooled *shadow.Tensor) {
	fn := m.w.Func()
	embeds := fn.Let(m.embeddings.forward(m.net, b.IDs)) // (B, S, H)
	if m.project != nil {
		fn.Set(&embeds, m.project.Call(embeds))
	}
	m.paddingMask(fn, embeds, b.Mask)
	hidden = fn.Let(m.encode(embeds))
	if m.pooler != nil {
		pooled = fn.Let(m.w.Call(m.pooler, hidden))
	}
	if m.classes == nil {
		m.run.Calling.keepPooled(pooled)
		pooled = nil
	}
	return fn.Return2(hidden, pooled)
}

// encode is BertEncoder.forward.
func (m *bert) encode(hidden *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(hidden)
	for _, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden))
	}
	return fn.Return(hidden)
}

type bertEmbeddings struct {
	word, position, tokenType   *nn.Embedding
	norm                        *nn.LayerNorm
	dropout                     nn.Dropout
	positionIDs, tokenTypeZeros *shadow.Tensor
}

func newBertEmbeddings(b *nn.Builder, at string, cfg bertConfig) *bertEmbeddings {
	return &bertEmbeddings{
		word:           b.Embedding(at+".word_embeddings", cfg.vocab, cfg.embedding),
		position:       b.Embedding(at+".position_embeddings", cfg.positions, cfg.embedding),
		tokenType:      b.Embedding(at+".token_type_embeddings", cfg.types, cfg.embedding),
		norm:           b.LayerNorm(at+".LayerNorm", cfg.embedding, true),
		dropout:        nn.Dropout(cfg.dropout),
		positionIDs:    b.BufferAt(at+".position_ids", shadow.Int64, 1, cfg.positions),
		tokenTypeZeros: b.BufferAt(at+".token_type_ids", shadow.Int64, 1, cfg.positions),
	}
}

func (e *bertEmbeddings) forward(n net, ids *shadow.Tensor) *shadow.Tensor {
	fn := n.w.Func(ids)
	positions := fn.Let(e.positionIDs.Slice(1, 0, n.run.Seq)) // (1, S)
	types := n.tokenTypes(fn, e.tokenTypeZeros, positions)
	embeds := fn.Let(e.word.Call(ids))
	typed := fn.Let(e.tokenType.Call(types))
	hidden := fn.Let(embeds.Add(typed))
	placed := fn.Let(e.position.Call(positions)) // (1, S, H)
	fn.Set(&hidden, hidden.Add(placed))
	fn.Set(&hidden, e.norm.Call(hidden))
	fn.Set(&hidden, e.dropout.Call(hidden))
	return fn.Return(hidden)
}

type bertLayer struct {
	shadow.Path
	attention    *bertAttention
	intermediate *bertIntermediate
	output       *bertOutput
}

func newBertLayers(b *nn.Builder, n net, at string, cfg bertConfig) []*bertLayer {
	layers := make([]*bertLayer, cfg.layers)
	for i := range layers {
		at := fmt.Sprintf("%s.%d", at, i)
		layers[i] = &bertLayer{
			Path:         shadow.Path(at),
			attention:    newBertAttention(b, n, at+".attention", cfg),
			intermediate: newBertIntermediate(b, at+".intermediate", cfg),
			output:       newBertOutput(b, at+".output", cfg.inter, cfg),
		}
	}
	return layers
}

func (l *bertLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	attended, _ := fn.Let2(w.Call2(l.attention, hidden))
	inner := fn.Let(w.Call(l.intermediate, attended)) // (B, S, I)
	return l.output.Call(inner, attended)
}
