// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Position embeddings of BART-like models.

// places makes the embeddings of a number of positions.
type places func(b *nn.Builder, at string, positions, width int) placed

type placed interface {
	// ids makes the decoder's position ids, or nil if positions are counted from the tokens.
	ids(w *shadow.World, length int) *shadow.Tensor
	// of returns the embeddings of the tokens' positions. The encoder passes no position ids.
	of(w *shadow.World, tokens, ids *shadow.Tensor) *shadow.Tensor
}

// learned is BartLearnedPositionalEmbedding.
type learned struct{ table *nn.Embedding }

func learnedPlaces(b *nn.Builder, at string, positions, width int) placed {
	return learned{b.Embedding(at, positions+2, width)}
}

func (p learned) ids(w *shadow.World, length int) *shadow.Tensor { return w.Arange(length).AddScalar() }

func (p learned) of(w *shadow.World, tokens, ids *shadow.Tensor) *shadow.Tensor {
	fn := w.Func(tokens, ids)
	if ids != nil {
		return fn.Return(p.table.Call(ids.Unsqueeze(0).AddScalar()))
	}
	ids = fn.Let(w.Arange(tokens.Size(1)).Expand(tokens.Size(0), -1))
	return fn.Return(p.table.Call(ids.AddScalar()))
}

// fixed is MarianSinusoidalPositionalEmbedding: a table that is not trained.
type fixed struct{ table *nn.Embedding }

func fixedPlaces(b *nn.Builder, at string, positions, width int) placed {
	p := fixed{b.Embedding(at, positions, width)}
	p.table.Weight.SetTrained(false)
	return p
}

func (p fixed) ids(w *shadow.World, length int) *shadow.Tensor {
	return w.Arange(length).AddScalar()
}

func (p fixed) of(w *shadow.World, tokens, ids *shadow.Tensor) *shadow.Tensor {
	fn := w.Func(ids)
	if ids == nil {
		ids = fn.Let(w.Arange(tokens.Size(1)))
	}
	return fn.Return(p.table.Call(ids))
}
