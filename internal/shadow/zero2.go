// SPDX-License-Identifier: Apache-2.0

package shadow

// Zero2 is DeepSpeed's stage 2 (stage_1_and_2.py): every process has all
// parameters, in one flat tensor, and keeps gradients and optimizer states of
// its own part of it. The part is the first process's, which has no padding.
type Zero2 struct {
	zero
	mine map[*Tensor]bool // parameters that reach into this process's part
	own  int              // their elements
	part *Tensor          // their gradients
}

// NewZero2 flattens the trainable parameters of a model: the flat copy is made
// while the parameters are still there.
func NewZero2(b *Builder, world int) *Zero2 {
	z := &Zero2{zero: zero{w: b.W, world: world, params: b.Trainable()}, mine: map[*Tensor]bool{}}
	z.dtype = z.params[0].dtype
	aligned := ceilDiv(numelOf(z.params), 2*world) * 2 * world // parts begin at multiples of four bytes
	z.partition = aligned / world
	all := z.flat(Parameters, aligned, z.dtype)
	start := 0
	for _, p := range z.params {
		old := p.mem
		p.mem = all.alias(p.size, p.stride).mem
		z.w.release2(old)
		if start < z.partition {
			z.mine[p] = true
			z.own += p.Numel()
		}
		start += p.Numel()
	}
	z.addMaster(z.dtype)
	z.w.afterGrad = z.gradient
	z.w.afterBackward = z.finish
	return z
}

// Forward adds nothing to the model's.
func (z *Zero2) Forward(run func() *Tensor) *Tensor { return run() }

// gradient takes a gradient as soon as it is there. The first one of a backward
// finds the bucket made.
func (z *Zero2) gradient(p *Tensor) {
	if z.bucket == nil {
		z.bucket = z.flat(Gradients, zeroBucket, z.dtype)
	}
	z.collect(p, z.reduce)
}

// reduce sums the bucket up over all processes, through a copy where it holds
// more than one gradient. What belongs to this process moves into its part, the
// rest is dropped.
func (z *Zero2) reduce() {
	if len(z.filled) > 1 {
		z.w.scratch(uint64(z.elements) * z.dtype.Bytes())
	}
	for _, p := range z.filled {
		if z.mine[p] && z.part == nil {
			z.part = z.flat(Gradients, z.own, z.dtype)
		}
		ZeroGrad([]*Tensor{p})
	}
	z.filled, z.elements = nil, 0
}

// finish ends a backward. Gradients of an earlier one of the same step are
// added to.
func (z *Zero2) finish() {
	z.reduce()
	if z.averaged == nil {
		z.averaged = z.part
	} else {
		z.part.drop()
	}
	z.part = nil
	z.bucket.drop()
	z.bucket = nil
}
