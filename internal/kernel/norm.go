// SPDX-License-Identifier: Apache-2.0

package kernel

// NormPartials returns the number of rows of partial sums that the backward of a layer norm or of the fused RMS
// norm keeps over m rows of n (aten/src/ATen/native/cuda/layer_norm_kernel.cu, 2.11). With very many short rows the
// gradients of weight and bias are summed in two passes. The result is 0 if one pass is enough, which may be the
// case in other versions.
func (r Rules) NormPartials(m, n int) Figure {
	if m <= 64<<10 || n/32 >= r.SMs/2 {
		return exactly(0)
	}
	rows := uint64(min(32<<10/CeilDiv(n, 32), CeilDiv(m, 32)))
	return r.between(NormSums, rows, 0, rows)
}

// LigerNormPartials returns the number of rows of partial sums in the backward of Liger's RMS norm
// (liger_kernel/ops/rms_norm.py, 0.8.5): one for each multiprocessor.
func (r Rules) LigerNormPartials() int { return r.SMs }
