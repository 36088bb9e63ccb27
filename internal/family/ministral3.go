// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newMinistral3 makes the text part of Ministral 3: Mistral whose queries are scaled by their position
// (transformers/models/ministral3/modular_ministral3.py).
func newMinistral3(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 34, heads: 32, kv: 8, inter: 14336, vocab: 131072})
	s.dim = c.Positive("head_dim", 128)
	s.masks = sameWindow(s.layers, c.window(0))
	s.attention = func(a *llamaAttention) shadow.Module2 { return &ministral3Attention{a} }
	return newLlamaLike(b, c, run, s), nil
}

type ministral3Attention struct{ *llamaAttention }

func (a *ministral3Attention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	query, key, value := a.project(fn, hidden)
	q, k := a.m.applyRotary(query, key, a.window, nil)
	fn.Set2(&query, q, &key, k)
	fn.Set(&query, query.Mul(scaleByPosition(a.m.pos).To(query.DType())))
	return a.finish(fn, query, &key, value)
}

// scaleByPosition is get_llama_4_attn_scale: 1 + β · log(1 + ⌊position / length⌋), as (1, 1, S, 1).
func scaleByPosition(pos *shadow.Tensor) *shadow.Tensor {
	fn := pos.World().Func(pos)
	scaling := fn.Let(pos.Plain("div", shadow.Float32).Plain("floor", shadow.Float32).AddScalar().LogPlain().MulScalar().AddScalar())
	return fn.Return(scaling.Unsqueeze(1).Unsqueeze(3))
}
