// SPDX-License-Identifier: Apache-2.0

package kernel

// cuBLAS workspaces (aten/src/ATen/cuda/CublasHandlePool.cpp). There is one per handle and CUDA stream, allocated
// from the caching allocator at the first product and kept. Handles belong to threads, so a training process has
// one set for the forward pass and one for the backward pass.

const (
	cublasDefault   = 8519680  // 2 × 4 MiB and 8 × 16 KiB
	cublasHopper    = 32 << 20 // sm_90
	cublasLtDefault = 1 << 20
)

// On AMD cards ROCm's libraries use 32 MiB, or 128 MiB on gfx94x and gfx95x; for products with a bias they use 76
// MiB.
const (
	hipblas   = 128 << 20
	hipblasLt = 76 << 20
)

// Cublas returns the size of a workspace. PyTorch 2.2 and 2.3 set none.
func (r Rules) Cublas() Figure {
	bytes := uint64(cublasDefault)
	switch {
	case r.Torch == 202 || r.Torch == 203:
		bytes = 0
	case r.Capability == 90, r.Torch >= 212 && r.Capability >= 90:
		bytes = cublasHopper
	}
	if r.Foreign {
		return r.between(Products, bytes, 0, hipblas)
	}
	return r.between(Products, bytes, cublasDefault, cublasHopper)
}

// IsCublas reports whether a workspace has this size on some card. It is for recordings from unknown cards.
func IsCublas(bytes uint64) bool { return bytes == cublasDefault || bytes == cublasHopper }

// CublasLt returns the additional workspace of cuBLASLt for a product with a bias, and whether it is kept like
// cuBLAS's workspace or allocated for each product. Since 2.12 both share one workspace.
func (r Rules) CublasLt() (bytes Figure, kept bool) {
	n := uint64(cublasLtDefault)
	if r.Torch >= 212 {
		n = 0
	}
	if r.Foreign {
		return r.between(Products, n, 0, hipblasLt), r.Torch >= 209
	}
	return exactly(n), r.Torch >= 209
}
