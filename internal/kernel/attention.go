// SPDX-License-Identifier: Apache-2.0

package kernel

// The kernels behind F.scaled_dot_product_attention
// (aten/src/ATen/native/transformers, 2.11; checked on an H200).

// Attention holds the arguments of SDPA that the choice of kernel depends on: queries are [Batch, Heads, Queries,
// Width], keys and values are [Batch, KeyHeads, Keys, Width].
type Attention struct {
	Type                                         Type // type of query, key and value
	Batch, Heads, KeyHeads, Queries, Keys, Width int  // sizes; KeyHeads is the number of key and value heads, Width is the head width

	Mask    Mask // the attn_mask argument
	GQA     bool // enable_gqa: key and value may have fewer heads
	Dropout bool // dropout on the scores
}

// Mask describes the attention mask as far as it affects the choice of kernel.
type Mask struct {
	Given   bool // there is a mask
	Trained bool // the mask needs a gradient
	Strided bool // the elements of a row are not adjacent
}

// Backend is one of the kernels that SDPA chooses among.
type Backend uint8

// The backends. Math is not a kernel but a composite of ops, for arguments that no kernel supports.
const (
	Flash     Backend = iota // FlashAttention
	Efficient                // xFormers' memory-efficient kernel
	Math                     // plain ops
	Cudnn                    // cuDNN's kernel
)

// AttentionBackend returns the first kernel in PyTorch's order of preference that supports these arguments
// (sdp_utils.cpp).
func (r Rules) AttentionBackend(a Attention) Backend {
	half := a.Type.half()
	switch {
	case a.KeyHeads != a.Heads && !a.GQA: // keys are broadcast to the query heads
		return Math
	case r.cudnnFirst() && half && !a.Mask.Trained && !a.Mask.Strided && a.Keys > 1 && a.Width%8 == 0 && a.Width <= 256:
		return Cudnn
	case half && !a.Mask.Given && a.Width <= 256 && r.Capability >= 80:
		return Flash
	case !a.GQA && !a.Mask.Strided:
		return Efficient
	}
	return Math
}

// cudnnFirst reports whether cuDNN is preferred, as it is on Hopper and data-center Blackwell since 2.9 (with the
// cuDNN that those versions ship).
func (r Rules) cudnnFirst() bool {
	return r.Torch >= 209 && (r.Capability == 90 || r.Capability == 100 || r.Torch >= 210 && r.Capability == 103)
}

// rows returns the number of queries over all heads.
func (a Attention) rows() int { return a.Batch * a.Heads * a.Queries }

// CudnnForward returns cuDNN's workspace in the forward pass. The upper bound is one number per query and head.
// The other kernels are in attention_flash.go and attention_efficient.go.
func (r Rules) CudnnForward(a Attention) Figure {
	bytes := uint64(0)
	if a.Queries > 1 {
		bytes = 256
	}
	return r.between(CudnnAttention, bytes, 0, uint64(a.rows()*4))
}

// CudnnBackward returns cuDNN's workspace in the backward pass: the queries' gradient in float32, one number per
// query and head, and with grouped heads the gradients of keys and values for every query head. The lower bound is
// one number per query and head; the upper bound is all three gradients in float32 for every query head.
func (r Rules) CudnnBackward(a Attention) Figure {
	bytes := a.rows()*a.Width*4 + a.rows()*4 + 256
	if a.KeyHeads != a.Heads {
		bytes += 2 * a.Batch * a.Heads * a.Keys * a.Width * a.Type.Bytes()
	}
	heads := a.Batch * a.Heads
	least, most := a.rows()*4, heads*(a.Queries+2*a.Keys)*a.Width*4+2*a.rows()*4+256
	return r.between(CudnnAttention, uint64(bytes), uint64(least), uint64(most))
}
