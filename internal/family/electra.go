// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newElectra makes ELECTRA: BERT with a separate embedding width and no pooler
// (transformers/models/electra/modeling_electra.py). Its masked language model is the generator.
func newElectra(b *nn.Builder, c *Config, run Run) (Model, error) {
	cfg := readBertOf(c, bertConfig{vocab: 30522, hidden: 256, heads: 4, inter: 1024})
	cfg.embedding = c.Positive("embedding_size", 128)
	m := &bert{net: net{b.W, run}, vocab: cfg.vocab}
	at := m.prefix("electra")
	emb := newBertEmbeddings(b, at+"embeddings", cfg)
	m.embeddings = emb
	if cfg.embedding != cfg.hidden {
		m.project = b.Linear(at+"embeddings_project", cfg.embedding, cfg.hidden, true)
	}
	m.build(b, at, cfg, false)
	switch run.Head {
	case MaskedLM:
		m.head = newElectraHead(b, cfg, emb.word)
	case SequenceClassification, TokenClassification:
		m.classes = newElectraClassifier(b, c, cfg, run)
	}
	return m, nil
}

// newElectraHead makes ElectraGeneratorPredictions followed by generator_lm_head.
func newElectraHead(b *nn.Builder, cfg bertConfig, word *nn.Embedding) *lmHead {
	h := &lmHead{Path: "generator_predictions", act: (*shadow.Tensor).GELU}
	h.norm = b.LayerNorm("generator_predictions.LayerNorm", cfg.embedding, true)
	h.dense = b.Linear("generator_predictions.dense", cfg.hidden, cfg.embedding, true)
	h.decoder = b.Linear("generator_lm_head", cfg.embedding, cfg.vocab, true)
	if cfg.tie {
		tieDecoder(b, h.decoder, word)
	}
	return h
}

// newElectraClassifier makes the head of ElectraForSequenceClassification or ElectraForTokenClassification: RoBERTa's
// with GELU.
func newElectraClassifier(b *nn.Builder, c *Config, cfg bertConfig, run Run) *classifier {
	k := newRobertaClassifier(b, c, cfg.hidden, c.classDropout(cfg.dropout), run)
	if first, ok := k.score.(*firstScorer); ok {
		first.act = (*shadow.Tensor).GELU
	}
	return k
}
