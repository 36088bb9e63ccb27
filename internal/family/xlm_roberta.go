// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newXLMRoberta makes XLM-RoBERTa, which is RoBERTa with another vocabulary and a head that is made before the encoder
// (transformers/models/xlm_roberta/modeling_xlm_roberta.py).
func newXLMRoberta(b *nn.Builder, c *Config, run Run) (Model, error) {
	cfg := readBert(c, 30522)
	m := &bert{net: net{b.W, run}, vocab: cfg.vocab}
	switch {
	case run.Head == MaskedLM:
		of := cfg
		of.act = (*shadow.Tensor).GELU
		m.head = newUntiedHead(b, "lm_head", ".dense", ".layer_norm", of)
	case Classifies(run.Head):
		m.classes = newRobertaClassifier(b, c, cfg, c.classDropout(cfg.dropout), run)
	}
	at := m.prefix("roberta")
	emb := newRobertaEmbeddings(b, at+"embeddings", cfg)
	m.embeddings = emb
	m.build(b, at, cfg, run.Head == Encoder && !cfg.unpooled || run.Head == MultipleChoice)
	if m.head != nil && cfg.tie {
		m.head.tie(b, emb.word)
		emb.word.Weight.Rename("lm_head.decoder.weight") // Module.parameters() finds the weight at this path first
	}
	return m, nil
}
