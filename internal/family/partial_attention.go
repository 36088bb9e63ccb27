// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// partialAttention is shared by PhiAttention and StableLmAttention, whose own forward rotates the first elements
// of each head.
type partialAttention struct {
	shadow.Path
	m                *llama
	q, k, v, o       *nn.Linear
	qNorm, kNorm     shadow.Module // nil if there is no norm
	headDim, rotated int
	dropout          float64
}

// attend is the rest of the forward, once queries, keys and values are split into heads. It runs in the same frame.
func (a *partialAttention) attend(fn *shadow.Frame, query, key, value *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	w, B, S, D := query.World(), query.Size(0), query.Size(2), a.headDim
	if a.qNorm != nil {
		fn.Set(&query, w.Call(a.qNorm, query))
		fn.Set(&key, w.Call(a.kNorm, key))
	}
	r := a.m.rotary.full
	queryRot, queryPass := fn.Let(query.Slice(-1, 0, a.rotated)), fn.Let(query.Slice(-1, a.rotated, D))
	keyRot, keyPass := fn.Let(key.Slice(-1, 0, a.rotated)), fn.Let(key.Slice(-1, a.rotated, D))
	q, k := applyRotary(queryRot, keyRot, r.cos, r.sin)
	fn.Set2(&queryRot, q, &keyRot, k)
	fn.Set(&query, shadow.Cat(-1, queryRot, queryPass))
	fn.Set(&key, shadow.Cat(-1, keyRot, keyPass))
	a.m.cached(fn, &key, &value, 0)

	out, weights := a.m.attention(query, key, value, attending{mask: a.m.masks.full, causal: true, dropout: a.dropout})
	fn.Let(out) // (B, S, H, D)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}
