// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newM2M100 makes M2M-100: mBART with fixed positions, counted from the tokens, and no norm of the embeddings
// (transformers/models/m2m_100/modeling_m2m_100.py).
func newM2M100(b *nn.Builder, c *Config, run Run) (Model, error) {
	return newBARTLike(b, c, run, bartKind{
		vocab: 128112, ffn: 4096, layerDrop: 0.05, attnDrop: 0.1, act: "relu", preNorm: true, finalNorm: true, unbiased: true, places: countedPlaces,
	})
}

// counted is M2M100SinusoidalPositionalEmbedding: a buffer, whose rows are chosen by positions counted from the tokens.
type counted struct{ weights *shadow.Tensor }

func countedPlaces(b *nn.Builder, _ string, positions, width int) placed {
	p := counted{b.Register(waveTable(b.W, positions+2, width, b.DType))}
	waveTable(b.W, positions+2, width, b.DType).Drop() // _init_weights computes them again
	return p
}

// waveTable is get_embedding.
func waveTable(w *shadow.World, rows, width int, dtype shadow.DType) *shadow.Tensor {
	fn := w.Func()
	emb := fn.Let(w.Arange(width/2).Float().MulScalar().Plain("exp", shadow.Float32))
	fn.Set(&emb, w.Arange(rows).Float().Unsqueeze(1).Mul(emb.Unsqueeze(0))) // (N, H/2)
	sin := emb.Sin().Hold()
	cos := emb.Cos()
	fn.Set(&emb, shadow.Cat(1, sin, cos))
	sin.Drop()
	return fn.Return(emb.To(dtype))
}

func (p counted) ids(*shadow.World, int) *shadow.Tensor { return nil }

func (p counted) of(w *shadow.World, tokens, _ *shadow.Tensor) *shadow.Tensor {
	fn := w.Func(tokens)
	ids := fn.Let(positionsFrom(tokens, true)) // (B, S)
	B, S := tokens.Size(0), tokens.Size(1)
	return fn.Return(p.weights.IndexSelect(0, ids.View(-1)).View(B, S, -1))
}
