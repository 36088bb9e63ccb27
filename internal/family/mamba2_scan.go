// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// chunkScan is mamba2_chunk_scan: attention-like products within chunks of L tokens, and a recurrence over the n
// chunks. hidden is (B, S, H, D), dt is (B, S, H), b and c are (B, S, G, N).
func (x *mamba2Mixer) chunkScan(hidden, dt, a, b, c *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func(hidden, dt, a, b, c)
	B, S, H, D := hidden.Size(0), hidden.Size(1), hidden.Size(2), hidden.Size(3)
	fn.Set(&dt, dt.Add(x.dtBias.To(dt.DType())))
	fn.Set(&dt, dt.Softplus())
	fn.Set(&dt, dt.Clamp())
	fn.Set(&hidden, hidden.Float())
	fn.Set(&b, b.Float().RepeatInterleave(H/x.groups, 2)) // (B, S, H, N)
	fn.Set(&c, c.Float().RepeatInterleave(H/x.groups, 2))
	pad := (x.chunk - S%x.chunk) % x.chunk
	skip := fn.Let(x.d.Unsqueeze(1).Mul(hidden.PadDim(1, 0, pad))) // (B, S + pad, H, D)

	fn.Set(&hidden, hidden.Mul(dt.Unsqueeze(3).Float()))
	fn.Set(&a, a.To(hidden.DType()).Mul(dt.Float())) // (B, S, H)
	x.intoChunks(fn, pad, &hidden, &a, &b, &c)       // (B, n, L, H, ·)
	fn.Set(&a, a.Permute(0, 3, 1, 2))                // (B, H, n, L)
	sums := fn.Let(a.CumsumDim(-1))
	diagonal := fn.Let(x.diagonal(fn, hidden, a, b, c))  // (B, n, L, H, D)
	states := fn.Let(x.chunkStates(fn, hidden, b, sums)) // (B, n, H, D, N)
	off := fn.Let(x.offDiagonal(fn, states, c, sums))    // (B, n, L, H, D)

	out := fn.Let(diagonal.Add(off))
	fn.Set(&out, out.Reshape(B, -1, H, D))
	fn.Set(&out, out.Add(skip))
	if pad > 0 {
		fn.Set(&out, out.Slice(1, 0, S))
	}
	return fn.Return(out)
}

// intoChunks is reshape_into_chunks for four tensors. The old tensors are freed once all four are done.
func (x *mamba2Mixer) intoChunks(fn *shadow.Frame, pad int, names ...**shadow.Tensor) {
	var chunks [4]*shadow.Tensor
	for i, at := range names {
		t := *at
		w, rest := t.World(), t.Shape()
		inner := w.Func(t)
		padded := inner.Let(t.PadDim(1, 0, pad))
		chunks[i] = inner.Return(padded.ReshapeAs(rest.Chunked(1, x.chunk, padded.Size(1)))).Hold()
	}
	for i, at := range names {
		fn.Set(at, chunks[i])
		chunks[i].Drop()
	}
}

// The functions below are parts of one long Python function; their variables live in its frame.

// diagonal returns the contribution of each chunk's own tokens to its output.
func (x *mamba2Mixer) diagonal(fn *shadow.Frame, hidden, a, b, c *shadow.Tensor) *shadow.Tensor {
	decay := fn.Let(segmentSum(a).Exp())                                                      // (B, H, n, L, L)
	g := fn.Let(c.Unsqueeze(3).Mul(b.Unsqueeze(2)).Sum(false, -1))                            // (B, n, L, L, H)
	m := fn.Let(g.Unsqueeze(5).Mul(decay.Permute(0, 2, 3, 4, 1).Unsqueeze(5)).Sum(false, -1)) // (B, n, L, L, H)
	return m.Unsqueeze(5).Mul(hidden.Unsqueeze(2)).Sum(false, 3)                              // (B, n, L, H, D)
}

// chunkStates returns the state at the start of each chunk.
func (x *mamba2Mixer) chunkStates(fn *shadow.Frame, hidden, b, sums *shadow.Tensor) *shadow.Tensor {
	L := sums.Size(3)
	decay := fn.Let(sums.Slice(3, L-1, L).Sub(sums).Exp())
	bDecay := fn.Let(b.Mul(decay.Permute(0, 2, 3, 1).Unsqueeze(4)))
	states := fn.Let(bDecay.Unsqueeze(4).Mul(hidden.Unsqueeze(5)).Sum(false, 2)) // (B, n, H, D, N)
	before := fn.Let(states.Slice(1, 0, 1).FullLike())
	fn.Set(&states, shadow.Cat(1, before, states)) // (B, n + 1, H, D, N)
	chunkDecay := fn.Let(segmentSum(sums.Select(3, L-1).Pad(1, 0)).Exp().Transpose(1, 3))
	n := states.Size(1)
	all := fn.Let(chunkDecay.Unsqueeze(4).Unsqueeze(5).Mul(states.Unsqueeze(2)).Sum(false, 1))
	fn.Set(&states, all.Slice(1, 0, n-1))
	fn.Let(all.Select(1, n-1)) // the final state
	return states
}

// offDiagonal returns the contribution of earlier chunks to each chunk's output.
func (x *mamba2Mixer) offDiagonal(fn *shadow.Frame, states, c, sums *shadow.Tensor) *shadow.Tensor {
	decay := fn.Let(sums.Exp())
	times := fn.Let(c.Unsqueeze(4).Mul(states.Unsqueeze(2))) // (B, n, L, H, D, N)
	return times.Sum(false, -1).Mul(decay.Permute(0, 2, 3, 1).Unsqueeze(4))
}

// segmentSum is segment_sum: it computes the sums of all segments from a lower triangle.
func segmentSum(x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	fn := w.Func(x)
	L := x.Size(-1)
	wide := x.Unsqueeze(-1)
	fn.Set(&x, wide.ExpandAs(x.Shape().Append(L))) // (…, L, L)
	mask := fn.Let(w.Full(shadow.Bool, L, L).Tril())
	fn.Set(&x, x.MaskedFill(mask.Not()))
	sums := fn.Let(x.CumsumDim(-2))
	fn.Set(&mask, w.Full(shadow.Bool, L, L).Tril())
	fn.Set(&sums, sums.MaskedFill(mask.Not()))
	return fn.Return(sums)
}
