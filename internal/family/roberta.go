// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// RoBERTa: transformers/models/roberta/modeling_roberta.py. It is BERT, except that positions are counted from the
// tokens and the modules of its head have other names.

func newRoberta(b *nn.Builder, c *Config, run Run) (Model, error) {
	cfg := readBert(c, 50265)
	m := &bert{net: net{b.W, run}, vocab: cfg.vocab}
	at := m.prefix("roberta")
	emb := newRobertaEmbeddings(b, at+"embeddings", cfg)
	m.embeddings = emb
	m.build(b, at, cfg, run.Head == Encoder && !cfg.unpooled || run.Head == MultipleChoice)
	if run.Head == "masked-lm" {
		cfg.act = (*shadow.Tensor).GELU
		m.head = newBertHead(b, "lm_head", ".dense", ".layer_norm", cfg, emb.word)
	}
	if Classifies(run.Head) {
		m.classes = newRobertaClassifier(b, c, cfg, c.classDropout(cfg.dropout), run)
	}
	return m, nil
}

type robertaEmbeddings struct {
	word, position, tokenType *nn.Embedding
	norm                      *nn.LayerNorm
	dropout                   nn.Dropout
	tokenTypeZeros            *shadow.Tensor
}

func newRobertaEmbeddings(b *nn.Builder, at string, cfg bertConfig) *robertaEmbeddings {
	e := &robertaEmbeddings{
		word:      b.Embedding(at+".word_embeddings", cfg.vocab, cfg.hidden),
		tokenType: b.Embedding(at+".token_type_embeddings", cfg.types, cfg.hidden),
		norm:      b.LayerNorm(at+".LayerNorm", cfg.hidden, true),
		dropout:   nn.Dropout(cfg.dropout),
	}
	b.BufferAt(at+".position_ids", shadow.Int64, 1, cfg.positions)
	e.tokenTypeZeros = b.BufferAt(at+".token_type_ids", shadow.Int64, 1, cfg.positions)
	e.position = b.Embedding(at+".position_embeddings", cfg.positions, cfg.hidden)
	return e
}

func (e *robertaEmbeddings) forward(n net, ids *shadow.Tensor) *shadow.Tensor {
	fn := n.w.Func(ids)
	positions := fn.Let(positionsFrom(ids, true)) // (B, S)
	types := n.tokenTypes(fn, e.tokenTypeZeros, positions)
	embeds := fn.Let(e.word.Call(ids))
	typed := fn.Let(e.tokenType.Call(types))
	hidden := fn.Let(embeds.Add(typed))
	placed := fn.Let(e.position.Call(positions)) // (B, S, H)
	fn.Set(&hidden, hidden.Add(placed))
	fn.Set(&hidden, e.norm.Call(hidden))
	fn.Set(&hidden, e.dropout.Call(hidden))
	return fn.Return(hidden)
}
