// SPDX-License-Identifier: Apache-2.0

package family

import (
	"math/bits"

	"snug/internal/shadow"
)

// alibi is build_alibi_tensor of BLOOM and Falcon: a bias per head that grows with the distance, (B·H, 1, S).
// slope is the type to which Falcon casts the slopes; None leaves them in float32.
func alibi(mask *shadow.Tensor, heads int, dtype, slope shadow.DType) *shadow.Tensor {
	w := mask.World()
	fn := w.Func(mask)
	B, S := mask.Size(0), mask.Size(1)
	power := 1 << (bits.Len(uint(heads)) - 1) // the largest power of 2 up to heads
	base := fn.Let(w.Full(shadow.Float32))
	powers := fn.Let(w.Empty(shadow.Dims(power), shadow.Int32))
	slopes := fn.Let(base.PowBy(powers)) // (power,)
	if power != heads {
		extra := fn.Let(w.Full(shadow.Float32))
		more := fn.Let(w.Empty(shadow.Dims(min(power, heads-power)), shadow.Int32))
		fn.Set(&slopes, shadow.Cat(0, slopes, extra.PowBy(more)))
	}
	distance := fn.Let(mask.Cumsum().AddScalar().Mul(mask).Unsqueeze(1)) // (B, 1, S)
	column := slopes.Unsqueeze(1)
	if slope != shadow.None {
		column = column.To(slope)
	}
	out := fn.Let(column.Mul(distance)) // (B, H, S)
	return fn.Return(out.Reshape(B*heads, 1, S).To(dtype))
}
