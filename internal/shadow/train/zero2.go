// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Zero2 is DeepSpeed's stage 2 (stage_1_and_2.py with partition_grads): once gradients are reduced, a
// process keeps only its own part of them.
type Zero2 struct{ flatZero }

// NewZero2 flattens the trainable parameters of a model, in the optimizer's groups if any are given.
func NewZero2(b *nn.Builder, world int, groups ...[]*shadow.Tensor) *Zero2 {
	z := &Zero2{newFlatZero(b, world, groups)}
	z.w.OnGrad(z.gradient)
	z.w.OnBackward(z.finish)
	return z
}

// gradient collects a gradient as soon as it arrives.
func (z *Zero2) gradient(p *shadow.Tensor) {
	z.setupBucket()
	z.collect(p, z.reduce)
}

// reduce sums the bucket. This process's gradients are copied into its part; all other gradients are dropped.
func (z *Zero2) reduce() {
	z.average()
	for _, p := range z.filled {
		if z.mine[p] {
			z.setupPart()
		}
		ZeroGrad([]*shadow.Tensor{p})
	}
	z.filled, z.elements = nil, 0
}

// finish ends a backward and adds the gradients to those of earlier backwards in the same step.
func (z *Zero2) finish() {
	z.reduce()
	z.bucket.Drop()
	z.bucket = nil
	if z.averaged == nil {
		z.averaged = z.part
	} else {
		z.part.Drop()
	}
	z.part = nil
	z.w.Transferred()
}
