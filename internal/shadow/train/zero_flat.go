// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/kernel"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
	"snug/internal/stream"
)

// flatZero is the common part of stages 1 and 2 (stage_1_and_2.py): every process has all trainable
// parameters in one flat tensor, and master weights and optimizer states for its own part of it. The
// simulated part is the first process's, which has no padding.
type flatZero struct {
	zero
	mine map[*shadow.Tensor]bool // parameters that overlap this process's part
	own  int                     // number of elements of the parameters in mine
	part *shadow.Tensor          // gradients of the parameters in mine
}

// newFlatZero flattens a model's trainable parameters via the CPU. DeepSpeed makes the copy on the
// GPU if there is room for it next to the parameters, so the copy never determines whether a run fits.
func newFlatZero(b *nn.Builder, world int) flatZero {
	z := flatZero{zero: zero{w: b.W, world: world, params: b.Trainable()}, mine: map[*shadow.Tensor]bool{}}
	z.dtype = z.params[0].DType()
	aligned := kernel.CeilDiv(numelOf(z.params), 2*world) * 2 * world // parts begin at multiples of four bytes
	z.partition = aligned / world
	for _, p := range z.params {
		p.ToMeta()
	}
	z.w.Trace.Add(stream.EmptyCache, 0, 0)
	all, start := z.flat(shadow.Parameters, aligned, z.dtype), 0
	for _, p := range z.params {
		p.LayInto(all)
		if start < z.partition {
			z.mine[p] = true
			z.own += p.Numel()
			z.slices = append(z.slices, min(p.Numel(), z.partition-start))
		}
		start += p.Numel()
	}
	z.addMasters(z.dtype, z.partition)
	return z
}

// Forward only runs the model.
func (z *flatZero) Forward(run func() *shadow.Tensor) *shadow.Tensor { return run() }

// setupBucket allocates the bucket unless it exists.
func (z *flatZero) setupBucket() {
	if z.bucket == nil {
		z.bucket = z.flat(shadow.Gradients, zeroBucket, z.dtype)
	}
}

// average sums the bucket over all processes, through a copy if it holds
// more than one gradient.
func (z *flatZero) average() {
	if len(z.filled) > 1 {
		z.w.Scratch(uint64(z.elements) * z.dtype.Bytes())
	}
	z.w.AllReduce(uint64(z.elements)*z.dtype.Bytes(), z.world)
}

// setupPart allocates the gradients for this process's part.
func (z *flatZero) setupPart() {
	if z.part == nil {
		z.part = z.flat(shadow.Gradients, z.own, z.dtype)
	}
}
