// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// deltaRule is torch_chunk_gated_delta_rule. query and key are (B, S, H, K), value (B, S, H, V), g and beta (B, S, H);
// L is the length of a chunk and n the number of chunks.
func deltaRule(query, key, value, g, beta *shadow.Tensor) *shadow.Tensor {
	w, dtype := query.World(), query.DType()
	B, S, H, V := key.Size(0), key.Size(1), value.Size(2), value.Size(3)
	fn := w.Func(query, key, value, g, beta)
	decay := fn.Let(g)
	rebind(fn, func(x *shadow.Tensor) *shadow.Tensor { return x.Transpose(1, 2).ToRowMajor(shadow.Float32) }, &query, &key, &value, &beta, &decay)
	fn.Set(&query, unitL2(query)) // (B, H, S, K)
	fn.Set(&key, unitL2(key))
	fn.Set(&query, query.MulScalar())
	pad := (deltaChunk - S%deltaChunk) % deltaChunk
	rebind(fn, func(x *shadow.Tensor) *shadow.Tensor { return x.PadDim(2, 0, pad) }, &query, &key, &value)
	rebind(fn, func(x *shadow.Tensor) *shadow.Tensor { return x.PadDim(2, 0, pad) }, &beta, &decay)
	vBeta := fn.Let(value.Mul(beta.Unsqueeze(-1)))
	kBeta := fn.Let(key.Mul(beta.Unsqueeze(-1)))
	rebind(fn, func(x *shadow.Tensor) *shadow.Tensor { return x.Reshape(B, H, -1, deltaChunk, x.Size(3)) }, &query, &key, &kBeta, &vBeta)
	fn.Set(&decay, decay.Reshape(B, H, -1, deltaChunk)) // (B, H, n, L)
	upper := fn.Let(w.Full(shadow.Bool, deltaChunk, deltaChunk).Plain("triu", shadow.Bool))
	sums := fn.Let(decay.CumsumDim(3))

	pairs := fn.Let(sums.Unsqueeze(4).Sub(sums.Unsqueeze(3))) // (B, H, n, L, L)
	fn.Set(&pairs, pairs.MaskedFill(upper))
	fn.Set(&pairs, pairs.Exp())
	system := fn.Let(kBeta.Matmul(key.Transpose(-1, -2)).Mul(pairs))
	within := fn.Let(query.Matmul(key.Transpose(-1, -2)).Mul(pairs))
	decayed := fn.Let(kBeta.Mul(sums.Exp().Unsqueeze(-1)))
	values := fn.Let(system.SolveTriangular(vBeta))  // (B, H, n, L, V)
	reads := fn.Let(system.SolveTriangular(decayed)) // (B, H, n, L, K)
	state := fn.Let(w.Full(shadow.Float32, B, H, key.Size(4), V))
	core := fn.Let(values.FullLike())
	fn.Set(&query, query.Mul(sums.Exp().Unsqueeze(-1)))
	fn.Set(&key, key.Mul(sums.Slice(3, deltaChunk-1, deltaChunk).Sub(sums).Exp().Unsqueeze(-1)))
	chunkDecay := fn.Let(sums.Select(3, deltaChunk-1).Exp().Unsqueeze(3).Unsqueeze(4))

	deltaScan(fn, core, &state, values, reads, within, query, key, chunkDecay)
	fn.Set(&state, nil)
	fn.Set(&core, core.Reshape(B, H, -1, V))
	fn.Set(&core, core.Slice(2, 0, S))
	fn.Set(&core, core.Transpose(1, 2).ToRowMajor(dtype))
	return fn.Return(core)
}

// deltaScan is the recurrence over the chunks, in the frame of deltaRule.
func deltaScan(fn *shadow.Frame, core *shadow.Tensor, state **shadow.Tensor, values, reads, within, query, key, decay *shadow.Tensor) {
	var change, inter *shadow.Tensor
	for i := range values.Size(2) {
		at := func(x *shadow.Tensor) *shadow.Tensor { return x.Select(2, i) }
		fn.Set(&change, at(values).Sub(at(reads).Matmul(*state))) // (B, H, L, V)
		fn.Set(&inter, at(query).Matmul(*state))
		core.CopySlice(inter.Add(at(within).Matmul(change)))
		fn.Set(state, (*state).Mul(at(decay)).Add(at(key).Transpose(-1, -2).Matmul(change)))
	}
}

// rebind computes new values for several variables and then sets them all, as Python's a, b = (f(x) for x in (a, b)) does.
func rebind(fn *shadow.Frame, f func(x *shadow.Tensor) *shadow.Tensor, names ...**shadow.Tensor) {
	results := make([]*shadow.Tensor, len(names))
	for i, at := range names {
		results[i] = f(*at).Hold()
	}
	for i, at := range names {
		fn.Set(at, results[i])
		results[i].Drop()
	}
}

// unitL2 is l2norm.
func unitL2(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	inverse := fn.Let(x.Mul(x).Sum(true, -1).AddScalar().Rsqrt())
	return fn.Return(x.Mul(inverse))
}
