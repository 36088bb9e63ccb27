// SPDX-License-Identifier: Apache-2.0

package setup

import "slices"

// LigerParts are the kinds of layers that Liger has kernels for: the rotation of queries and keys, norms, and the ops
// between the matrix products of an MLP or its experts. AllLiger means all of them.
var LigerParts = []string{"rope", "norm", "mlp"}

// UnslothParts are the kinds of layers for which Unsloth's kernels are simulated.
var UnslothParts = []string{"rope", "norm"}

// completeUnsloth returns an error if norms are trained on several GPUs other than with FSDP1. Unsloth's kernel computes
// no gradient for their weights, and missing gradients are simulated only on one GPU and with FSDP1.
func (s *Setup) completeUnsloth() error {
	if s.LoRA == nil && s.Dist != nil && s.DistKind() != FSDP1 && slices.Contains(s.Unsloth, "norm") {
		return Wrong("{unsloth} contains norm, which is simulated only on one GPU or with {dist.kind=fsdp1}, not with {dist.kind} %s; change {dist.kind}, or remove norm", s.Dist.Kind)
	}
	return nil
}

// AllLiger means all of LigerParts.
const AllLiger = "all"

// ligerParts returns the layers that use Liger's kernels, without duplicates and in a fixed order.
func ligerParts(given []string) []string {
	var out []string
	for _, part := range LigerParts {
		if slices.Contains(given, part) || slices.Contains(given, AllLiger) {
			out = append(out, part)
		}
	}
	return out
}
