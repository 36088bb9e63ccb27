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
	switch {
	case run.Head == MaskedLM:
		m.head = newElectraHead(b, cfg, emb.word)
	case Classifies(run.Head):
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

// newElectraClassifier makes the head of an ELECTRA that scores texts or tokens: RoBERTa's with GELU, except that
// texts to choose from are summarized first.
func newElectraClassifier(b *nn.Builder, c *Config, cfg bertConfig, run Run) *classifier {
	if run.Head == MultipleChoice {
		return newClassifier(c, run, newSummaryScorer(b, c, cfg.hidden))
	}
	k := newRobertaClassifier(b, c, cfg, c.classDropout(cfg.dropout), run)
	if first, ok := k.score.(*firstScorer); ok {
		first.act = (*shadow.Tensor).GELU
	}
	return k
}

// summaryScorer is ElectraSequenceSummary applied to the first token, with the linear layer that follows it.
type summaryScorer struct {
	shadow.Path
	summary, out *nn.Linear
	act          activation
	dropout      nn.Dropout
}

func newSummaryScorer(b *nn.Builder, c *Config, hidden int) *summaryScorer {
	if c.String("summary_type", "first") != "first" {
		c.fail("summary_type", "first, because other summaries are not simulated")
	}
	if !c.Bool("summary_use_proj", true) {
		c.fail("summary_use_proj", "true, because a summary without a projection is not simulated")
	}
	return &summaryScorer{
		Path:    "sequence_summary",
		summary: b.Linear("sequence_summary.summary", hidden, hidden, true),
		act:     c.activation("summary_activation", "gelu"),
		dropout: nn.Dropout(c.Float("summary_last_dropout", 0.1)),
		out:     b.Linear("classifier", hidden, 1, true),
	}
}

func (s *summaryScorer) logits(fn *shadow.Frame, e encoded) *shadow.Tensor {
	return s.out.Call(fn.Let(e.hidden.World().Call(s, e.hidden)))
}

// Forward is the summary's forward.
func (s *summaryScorer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	out := fn.Let(hidden.Select(1, 0)) // (B, H)
	fn.Set(&out, s.summary.Call(out))
	fn.Set(&out, s.act(out))
	fn.Set(&out, s.dropout.Call(out))
	return out
}
