// SPDX-License-Identifier: Apache-2.0

package train

import (
	"slices"

	"snug/internal/shadow"
)

// DeepSpeed's ZeRO, stages 1 to 3 (deepspeed/runtime/zero, 0.19, with its default settings). The simulation follows
// DeepSpeed's sources. DeepSpeed's own allocations are checked against its code running on the CPU
// (testdata/measured/deepspeed_cpu.py); no GPU run has confirmed them.
//
// All stages have parameters in the model's own type; a float32 copy of this process's part, which the optimizer
// updates; and one flat bucket into which gradients are copied to be reduced. The stages are in zero1.go,
// zero2.go and zero3.go; PyTorch's own ZeroRedundancyOptimizer is in zero_redundancy.go.

// zeroBucket is reduce_bucket_size, in elements.
const zeroBucket = 500_000_000

// zero is the part shared by all stages.
type zero struct {
	w         *shadow.World
	world     int
	params    []*shadow.Tensor // trainable parameters
	dtype     shadow.DType
	masters   []*shadow.Tensor // this process's part in float32, one tensor for each group that is updated at once
	bucket    *shadow.Tensor
	filled    []*shadow.Tensor // parameters whose gradients are in the bucket
	elements  int
	averaged  *shadow.Tensor // this process's part of the gradients, for the step
	partition int            // number of elements in averaged
	slices    []int          // number of elements of each gradient in averaged
	pieces    []int          // number of gradients in this process's part of each group; nil if it does not matter
	keeps     bool           // averaged is kept between steps
}

// Masters returns the tensors that the optimizer updates.
func (z *zero) Masters() []*shadow.Tensor { return z.masters }

// flat allocates a permanent tensor of n elements.
func (z *zero) flat(c shadow.Component, n int, dt shadow.DType) *shadow.Tensor {
	defer z.w.As(c)()
	return z.w.Empty(shadow.Dims(n), dt).Hold()
}

// addMasters makes the float32 copies of groups of elements, each from a temporary copy of the given type, and then the
// zero gradient with which DeepSpeed sets up its optimizer.
func (z *zero) addMasters(through shadow.DType, groups ...int) {
	for _, n := range groups {
		z.addMaster(through, n)
	}
	z.w.Scratch(uint64(slices.Max(groups)) * shadow.Float32.Bytes())
}

// addMaster makes the float32 copy of one group.
func (z *zero) addMaster(through shadow.DType, n int) {
	copied := z.w.Empty(shadow.Dims(n), through).Hold()
	if z.dtype != shadow.Float32 {
		copied = shadow.Replace(copied, z.w.Empty(shadow.Dims(n), shadow.Float32))
	}
	copied.Retag(shadow.OptimizerState, "master weights")
	copied.SetTrained(true)
	z.masters = append(z.masters, copied)
}

// collect copies a gradient into the bucket, where it stays as a view. A full bucket
// is reduced first. A gradient larger than the bucket
// is reduced by itself.
func (z *zero) collect(p *shadow.Tensor, reduce func()) {
	if z.elements+p.Numel() > zeroBucket && len(z.filled) > 0 {
		reduce()
	}
	if p.Numel() <= zeroBucket {
		p.LayGradInto(z.bucket)
	}
	z.elements += p.Numel()
	z.filled = append(z.filled, p)
}

// zeroOptimizer wraps the step of another optimizer.
type zeroOptimizer struct {
	z     *zero
	inner Optimizer
}

// Around returns an optimizer that updates the master weights.
func (z *zero) Around(o Optimizer) Optimizer { return &zeroOptimizer{z, o} }

// Step computes the norm of the gradients, each of which is briefly cast to float64. Then it makes one float32
// gradient for each group of this process's part, updates the group's weights, and copies the result into the model's
// parameters, whose other parts are gathered in place.
func (o *zeroOptimizer) Step() {
	z := o.z
	if z.averaged == nil {
		return
	}
	for _, n := range z.slices {
		z.w.Scratch(uint64(n) * shadow.Float64.Bytes())
	}
	dtype := z.averaged.DType()
	for i, master := range z.masters {
		grad := z.gradientOf(i)
		if dtype != shadow.Float32 {
			grad = shadow.Replace(grad, z.w.Empty(master.Shape(), shadow.Float32))
		}
		if !z.keeps && i == len(z.masters)-1 {
			z.averaged.Drop()
			z.averaged = nil
		}
		master.SetGrad(grad)
		o.inner.Step()
		ZeroGrad([]*shadow.Tensor{master})
	}
}

// gradientOf returns the gradient of this process's part of a group, in the gradients' own type. The gradients of several
// parameters are copied into one tensor; a single one is used where it is.
func (z *zero) gradientOf(group int) *shadow.Tensor {
	if z.pieces != nil && z.pieces[group] == 1 {
		return z.averaged.Detach().Hold()
	}
	return z.w.Empty(z.masters[group].Shape(), z.averaged.DType()).Hold()
}
