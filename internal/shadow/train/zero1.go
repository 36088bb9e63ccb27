// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Zero1 is DeepSpeed's stage 1 (stage_1_and_2.py without partition_grads), which
// is not PyTorch's ZeroRedundancyOptimizer: master weights and optimizer states
// are partitioned, and gradients are not partitioned until the last backward of a step has ended. Only then are
// they copied into the bucket, parameter by parameter, and reduced; the bucket itself is allocated at the step's
// first gradient.
type Zero1 struct {
	flatZero
	last bool // the current backward is the step's last
}

// NewZero1 flattens the trainable parameters of a model, in the optimizer's groups if any are given.
func NewZero1(b *nn.Builder, world int, groups ...[]*shadow.Tensor) *Zero1 {
	z := &Zero1{flatZero: newFlatZero(b, world, groups), last: true}
	z.w.OnGrad(func(*shadow.Tensor) { z.setupBucket() })
	z.w.OnBackward(z.finish)
	return z
}

// Boundary sets whether the next backward is the last one before an update.
func (z *Zero1) Boundary(last bool) { z.last = last }

// finish is reduce_gradients at the boundary. Other processes' gradients remain views of the bucket, or separate
// tensors if they are too large for it, until all are reduced.
func (z *Zero1) finish() {
	if !z.last {
		return
	}
	for _, p := range z.params {
		if p.Grad() != nil {
			z.collect(p, z.reduce)
		}
	}
	z.reduce()
	z.averaged, z.part = z.part, nil
	ZeroGrad(z.params)
	z.bucket.Drop()
	z.bucket = nil
	z.w.Transferred()
}

// reduce sums the bucket and copies this process's gradients into its part.
func (z *Zero1) reduce() {
	z.average()
	for _, p := range z.filled {
		if z.mine[p] {
			z.setupPart()
			ZeroGrad([]*shadow.Tensor{p})
		}
	}
	z.filled, z.elements = nil, 0
}
