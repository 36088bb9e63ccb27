// SPDX-License-Identifier: Apache-2.0

package setup

import "fmt"

// Axis is a way in which GPUs divide a run.
type Axis int

// The axes of a mesh. Along Data and Shard, each GPU has its own samples; along the others, several GPUs process the
// same samples.
const (
	Data     Axis = iota // each GPU has the whole model
	Shard                // each GPU keeps a part of the optimizer states, and possibly of gradients and weights
	Tensor               // layers are split
	Context              // sequences are split
	Pipeline             // each GPU has some of the layers
	Expert               // each GPU has some of the experts
	axes
)

// String returns the name of the axis in PyTorch's device meshes.
func (a Axis) String() string {
	return [...]string{"data", "shard", "tensor", "context", "pipeline", "expert"}[a]
}

// Mesh is the number of GPUs along each axis; 0 means 1. Mesh{Data: 2, Shard: 4} is eight GPUs.
type Mesh [axes]int

// Size returns the number of GPUs along an axis.
func (m Mesh) Size(a Axis) int { return max(m[a], 1) }

// GPUs returns the total number of GPUs.
func (m Mesh) GPUs() int {
	n := 1
	for a := range axes {
		n *= m.Size(a)
	}
	return n
}

// Replicas returns the number of micro-batches that run at the same time, which is a factor of the effective batch.
func (m Mesh) Replicas() int { return m.Size(Data) * m.Size(Shard) }

// only returns an error for a mesh with GPUs along another axis, because only one axis, data or shard, is simulated
// at a time.
func (m Mesh) only(a Axis) error {
	for other := range axes {
		if other != a && m.Size(other) > 1 {
			return fmt.Errorf("%d GPUs along %s and %d along %s cannot be combined in the simulation; use only one of data and shard", m.Size(other), other, m.Size(a), a)
		}
	}
	return nil
}
