// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// lmHead is the head of masked language models: a dense layer, an activation, a norm, and the decoder. The
// decoder shares its weight with the word embeddings and, in some families, its bias with the head.
type lmHead struct {
	shadow.Path
	dense   *nn.Linear
	act     func(*shadow.Tensor) *shadow.Tensor
	norm    *nn.LayerNorm
	decoder *nn.Linear
	bias    *shadow.Tensor // the head's own bias, or nil
}

// newBertHead makes BertLMPredictionHead or, with other names, RobertaLMHead and MPNetLMHead. The decoder's bias
// is the head's own.
func newBertHead(b *nn.Builder, at, dense, norm string, cfg bertConfig, word *nn.Embedding) *lmHead {
	h := newUntiedHead(b, at, dense, norm, cfg)
	if cfg.tie {
		h.tie(b, word)
	}
	return h
}

// newUntiedHead makes the head without tying it.
func newUntiedHead(b *nn.Builder, at, dense, norm string, cfg bertConfig) *lmHead {
	h := &lmHead{
		Path:    shadow.Path(at),
		dense:   b.Linear(at+dense, cfg.hidden, cfg.hidden, true),
		act:     cfg.act,
		norm:    b.LayerNorm(at+norm, cfg.hidden, true),
		decoder: b.Linear(at+".decoder", cfg.hidden, cfg.vocab, true),
	}
	h.bias = b.Parameter(at+".bias", cfg.vocab)
	return h
}

// tie makes the decoder share its weight with the embeddings and its bias with the head.
func (h *lmHead) tie(b *nn.Builder, word *nn.Embedding) {
	tieDecoder(b, h.decoder, word)
	b.Tie(&h.decoder.Bias, h.bias)
	b.CopyData(h.decoder.Bias)
}

// tieDecoder is tie_weights: if the decoder has a bias, transformers pads it to the number of rows in the new
// weight. No padding is needed here, but the bias is still copied.
func tieDecoder(b *nn.Builder, decoder *nn.Linear, word *nn.Embedding) {
	b.Tie(&decoder.Weight, word.Weight)
	if decoder.Bias != nil {
		b.CopyData(decoder.Bias)
	}
}

func (h *lmHead) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(h, x) }

func (h *lmHead) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, h.dense.Call(hidden))
	fn.Set(&hidden, h.act(hidden))
	fn.Set(&hidden, h.norm.Call(hidden))
	fn.Set(&hidden, h.decoder.Call(hidden)) // (B, S, V)
	return hidden
}
