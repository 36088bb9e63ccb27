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

// newFlatZero flattens a model's trainable parameters: in one group via the CPU, as DeepSpeed does if the card has no room
// for a copy, or in several groups on the card. Where the copy is made never determines whether a run fits.
func newFlatZero(b *nn.Builder, world int, groups [][]*shadow.Tensor) flatZero {
	z := flatZero{zero: zero{w: b.W, world: world, params: b.Trainable()}, mine: map[*shadow.Tensor]bool{}}
	z.dtype = z.params[0].DType()
	here := len(groups) > 0
	if !here {
		groups = [][]*shadow.Tensor{z.params}
		for _, p := range z.params {
			p.ToMeta()
		}
	}
	first := 0
	for _, group := range groups {
		if len(group) == 0 {
			continue
		}
		z.w.Trace.Add(stream.EmptyCache, 0, 0)
		part := z.flatten(group)
		z.addMaster(z.dtype, part)
		first += part
	}
	z.w.Scratch(uint64(first) * shadow.Float32.Bytes())
	return z
}

// flatten makes one tensor of a group of parameters, and returns the number of elements of this process's part.
func (z *flatZero) flatten(group []*shadow.Tensor) (part int) {
	aligned := kernel.CeilDiv(numelOf(group), 2*z.world) * 2 * z.world // parts begin at multiples of four bytes
	part = aligned / z.world
	all, start, pieces := z.flat(shadow.Parameters, aligned, z.dtype), 0, 0
	for _, p := range group {
		p.ToMeta()
		p.LayInto(all)
		if start < part {
			z.mine[p] = true
			z.own += p.Numel()
			z.slices = append(z.slices, min(p.Numel(), part-start))
			pieces++
		}
		start += p.Numel()
	}
	z.pieces = append(z.pieces, pieces)
	return part
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
