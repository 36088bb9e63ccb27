// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// DeBERTa v2 and v3: transformers/models/deberta_v2/modeling_deberta_v2.py. BERT's layers, with separate
// attention to contents and to relative positions in its own eager code (deberta_v2_attention.go).

type deberta struct {
	net
	bertConfig
	embeddings *debertaEmbeddings
	layers     []*debertaLayer
	relative   *nn.Embedding // rel_embeddings, nil without relative attention
	relNorm    *nn.LayerNorm
	buckets    int
	profiled   bool           // the compiled function has run once
	unpadded   bool           // no token is known to be padding
	mask, pos  *shadow.Tensor // for the current forward
	rel        *shadow.Tensor // the relative embeddings of the current forward
	head       shadow.Module
	classes    *classifier
}

func newDeberta(b *nn.Builder, c *Config, run Run) (Model, error) {
	run, err := run.eagerOnly("deberta-v2")
	if err != nil {
		return nil, err
	}
	if c.Int("conv_kernel_size", 0) > 0 {
		c.fail("conv_kernel_size", "0, because the convolution is not simulated")
	}
	cfg := readBertOf(c, bertConfig{vocab: 128100, hidden: 1536, heads: 24, inter: 6144})
	cfg.layers = c.Int("num_hidden_layers", 24)
	cfg.types = c.Int("type_vocab_size", 0)
	cfg.embedding = c.Positive("embedding_size", cfg.hidden)
	m := &deberta{net: net{b.W, run}, bertConfig: cfg, unpadded: c.null("pad_token_id")}
	at := m.prefix("deberta")
	m.embeddings = newDebertaEmbeddings(b, c, at+"embeddings", cfg)
	for i := range cfg.layers {
		m.layers = append(m.layers, newDebertaLayer(b, c, m, fmt.Sprintf("%sencoder.layer.%d", at, i)))
	}
	if c.Bool("relative_attention", false) {
		m.buckets = c.signed("position_buckets", -1)
		m.relative = b.Embedding(at+"encoder.rel_embeddings", 2*c.positionSpan(), cfg.hidden)
	}
	if strings.Contains(strings.ToLower(c.String("norm_rel_ebd", "none")), "layer_norm") {
		m.relNorm = b.LayerNorm(at+"encoder.LayerNorm", cfg.hidden, true)
	}
	b.Scratch(shadow.Int64, cfg.positions) // _init_weights copies an arange into position_ids
	switch {
	case run.Head == MaskedLM:
		m.head = newDebertaHead(b, c, cfg, m.embeddings.word)
	case Classifies(run.Head):
		m.classes = newDebertaClassifier(b, c, cfg, run)
	}
	return m, nil
}

// signed reads a whole number that may be negative.
func (c *Config) signed(key string, def int) int { return int(c.Float(key, float64(def))) }

// positionSpan returns the number of relative positions in one direction.
func (c *Config) positionSpan() int {
	if n := c.signed("position_buckets", -1); n > 0 {
		return n
	}
	if n := c.signed("max_relative_positions", -1); n > 0 {
		return n
	}
	return c.Positive("max_position_embeddings", 512)
}

func (m *deberta) Batch() Batch { return m.textBatch() }

// Loss is the forward of DebertaV2ForMaskedLM or of a model with another head, or an embedding loss over
// DebertaV2Model.
func (m *deberta) Loss(b Batch) *shadow.Tensor {
	hidden := m.forward(b)
	if m.head == nil || m.run.Calling.ends(hidden, nil) {
		return m.encoderLoss(encoded{hidden: hidden, mask: b.Mask}, nil, m.classes, b, m.vocab)
	}
	fn := m.w.Func(hidden)
	m.run.Calling.tieState(hidden)
	logits := fn.Let(m.w.Call(m.head, hidden)) // (B, S, V)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(maskedLoss(logits, b.Labels, m.vocab))
}

// forward is DebertaV2Model.forward. The outputs of all layers live until it returns.
func (m *deberta) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	mask := b.Mask
	if mask == nil {
		m.lookForPadding(b.IDs)
		mask = m.w.Full(shadow.Float32, m.run.Batch, m.run.Seq)
	}
	fn.Let(mask)
	types := fn.Let(m.w.Full(shadow.Int64, m.run.Batch, m.run.Seq))
	embeds := fn.Let(m.embeddings.forward(m.net, b.IDs, types, mask))
	layers := m.encode(embeds, mask)
	for _, l := range layers {
		fn.Let(l)
		l.Drop() // drops the reference that encode returned
	}
	if len(layers) == 0 {
		return fn.Return(embeds)
	}
	return fn.Return(layers[len(layers)-1])
}

// lookForPadding is warn_if_padding_and_no_attention_mask: it reads the first and last ids.
func (m *deberta) lookForPadding(ids *shadow.Tensor) {
	if m.unpadded {
		return
	}
	fn := m.w.Func(ids)
	ends := fn.Let(ids.IndexAt(1, m.w.Empty(shadow.Dims(2), shadow.Int64))) // (B, 2)
	shadow.Item(ends.Compare("eq").All())
	fn.Return(nil)
}

// encode is DebertaV2Encoder.forward. It returns the layers' outputs. The caller must drop a reference to each.
func (m *deberta) encode(hidden, mask *shadow.Tensor) []*shadow.Tensor {
	fn := m.w.Func(hidden, mask)
	fn.Set(&mask, mask.Unsqueeze(1).Unsqueeze(2).Mul(mask.Unsqueeze(1).Unsqueeze(-1))) // (B, 1, S, S)
	m.mask, m.pos, m.rel = mask, nil, nil
	if m.relative != nil {
		var buckets func(*shadow.Tensor) *shadow.Tensor
		if m.buckets > 0 {
			buckets = m.logBuckets
		}
		m.pos = fn.Let(relativePositions(hidden, buckets))
		m.rel = m.relative.Weight
		if m.relNorm != nil {
			m.rel = fn.Let(m.relNorm.Call(m.rel))
		}
	}
	var all []*shadow.Tensor
	for _, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden, m.mask, m.pos, m.rel))
		all = append(all, hidden.Hold())
	}
	fn.Return(nil)
	return all
}

type debertaEmbeddings struct {
	word, position, tokenType *nn.Embedding // the last two may be nil
	project                   *nn.Linear
	norm                      *nn.LayerNorm
	dropout                   nn.Dropout
	positionIDs               *shadow.Tensor
}

func newDebertaEmbeddings(b *nn.Builder, c *Config, at string, cfg bertConfig) *debertaEmbeddings {
	e := &debertaEmbeddings{dropout: nn.Dropout(cfg.dropout)}
	e.word = b.Embedding(at+".word_embeddings", cfg.vocab, cfg.embedding)
	if c.Bool("position_biased_input", true) {
		e.position = b.Embedding(at+".position_embeddings", cfg.positions, cfg.embedding)
	}
	if cfg.types > 0 {
		e.tokenType = b.Embedding(at+".token_type_embeddings", cfg.types, cfg.embedding)
	}
	if cfg.embedding != cfg.hidden {
		e.project = b.Linear(at+".embed_proj", cfg.embedding, cfg.hidden, false)
	}
	e.norm = b.LayerNorm(at+".LayerNorm", cfg.hidden, true)
	e.positionIDs = b.BufferAt(at+".position_ids", shadow.Int64, 1, cfg.positions)
	return e
}

func (e *debertaEmbeddings) forward(n net, ids, types, mask *shadow.Tensor) *shadow.Tensor {
	fn := n.w.Func(ids, types, mask)
	positions := fn.Let(e.positionIDs.Slice(1, 0, n.run.Seq))
	embeds := fn.Let(e.word.Call(ids))
	if e.position != nil {
		placed := fn.Let(e.position.Call(positions))
		hidden := fn.Let(embeds)
		fn.Set(&hidden, hidden.Add(placed))
		return e.rest(fn, hidden, types, mask)
	}
	fn.Let(embeds.EmptyLike(embeds.DType())) // zeros in place of the positions
	return e.rest(fn, embeds, types, mask)
}

// rest is the part of forward after the positions, in the same frame.
func (e *debertaEmbeddings) rest(fn *shadow.Frame, embeds, types, mask *shadow.Tensor) *shadow.Tensor {
	hidden := fn.Let(embeds)
	if e.tokenType != nil {
		typed := fn.Let(e.tokenType.Call(types))
		fn.Set(&hidden, hidden.Add(typed))
	}
	if e.project != nil {
		fn.Set(&hidden, e.project.Call(hidden))
	}
	fn.Set(&hidden, e.norm.Call(hidden))
	kept := fn.Let(mask.Unsqueeze(2).To(hidden.DType())) // (B, S, 1)
	fn.Set(&hidden, hidden.Mul(kept))
	fn.Set(&hidden, e.dropout.Call(hidden))
	return fn.Return(hidden)
}

type debertaLayer struct {
	shadow.Path
	attention    *debertaAttention
	intermediate *bertIntermediate
	output       *bertOutput
}

func newDebertaLayer(b *nn.Builder, c *Config, m *deberta, at string) *debertaLayer {
	return &debertaLayer{
		Path:         shadow.Path(at),
		attention:    newDebertaAttention(b, c, m, at+".attention"),
		intermediate: newBertIntermediate(b, at+".intermediate", m.bertConfig),
		output:       newBertOutput(b, at+".output", m.inter, m.bertConfig),
	}
}

func (l *debertaLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	attended := fn.Let(w.Call(l.attention, hidden))
	inner := fn.Let(w.Call(l.intermediate, attended)) // (B, S, I)
	return fn.Let(l.output.Call(inner, attended))
}

// debertaHead is DebertaV2LMPredictionHead, which uses the embedding weight as its output layer.
type debertaHead struct {
	shadow.Path
	dense *nn.Linear
	norm  *nn.LayerNorm
	act   activation
	bias  *shadow.Tensor
	word  *nn.Embedding
}

// newDebertaHead makes the head of DebertaV2ForMaskedLM. The legacy head, which is the default, is BERT's.
func newDebertaHead(b *nn.Builder, c *Config, cfg bertConfig, word *nn.Embedding) shadow.Module {
	if c.Bool("legacy", true) {
		return newBertHead(b, "cls.predictions", ".transform.dense", ".transform.LayerNorm", cfg, word)
	}
	at := "lm_predictions.lm_head"
	h := &debertaHead{Path: shadow.Path(at), act: cfg.act, word: word}
	h.dense = b.Linear(at+".dense", cfg.hidden, cfg.hidden, true)
	h.norm = b.LayerNorm(at+".LayerNorm", cfg.hidden, true)
	h.bias = b.Parameter(at+".bias", cfg.vocab)
	if cfg.tie {
		b.CopyData(h.bias) // tying registers the embedding's weight in this module and pads the bias
	}
	return h
}

// Forward is the module's forward.
func (h *debertaHead) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, h.dense.Call(hidden))
	fn.Set(&hidden, h.act(hidden))
	fn.Set(&hidden, h.norm.Call(hidden))
	fn.Set(&hidden, hidden.Matmul(h.word.Weight.T()).Add(h.bias))
	return hidden
}

// newDebertaClassifier makes the head of a DeBERTa model that scores texts or tokens.
func newDebertaClassifier(b *nn.Builder, c *Config, cfg bertConfig, run Run) *classifier {
	if !scoresTexts(run.Head) {
		return newTokenClassifier(b, c, cfg.hidden, nn.Dropout(cfg.dropout), run)
	}
	pooled := c.Positive("pooler_hidden_size", cfg.hidden)
	return newClassifier(c, run, &contextScorer{
		Path: "pooler", drop: nn.Dropout(c.Float("pooler_dropout", 0)), act: c.activation("pooler_hidden_act", "gelu"),
		dense: b.Linear("pooler.dense", pooled, pooled, true),
		out:   b.Linear("classifier", cfg.hidden, c.classes(run), true),
		last:  nn.Dropout(c.Float("cls_dropout", cfg.dropout)),
	})
}

// contextScorer is ContextPooler with the dropout and linear layer that follow it.
type contextScorer struct {
	shadow.Path
	dense, out *nn.Linear
	drop, last nn.Dropout
	act        activation
}

func (s *contextScorer) logits(fn *shadow.Frame, e encoded) *shadow.Tensor {
	pooled := fn.Let(e.hidden.World().Call(s, e.hidden))
	fn.Set(&pooled, s.last.Call(pooled))
	return s.out.Call(pooled)
}

// Forward is ContextPooler.forward.
func (s *contextScorer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	first := fn.Let(hidden.Select(1, 0)) // (B, H)
	fn.Set(&first, s.drop.Call(first))
	pooled := fn.Let(s.dense.Call(first))
	fn.Set(&pooled, s.act(pooled))
	return pooled
}

// positionKinds reads pos_att_type, a list or a string such as "p2c|c2p".
func (c *Config) positionKinds() (c2p, p2c bool) {
	kinds := c.Strings("pos_att_type")
	if s, ok := c.keys["pos_att_type"].(string); ok {
		kinds = strings.Split(strings.ToLower(s), "|")
	}
	return slices.Contains(kinds, "c2p"), slices.Contains(kinds, "p2c")
}
