// SPDX-License-Identifier: Apache-2.0

package setup

import "slices"

// LigerParts are the kinds of layers that Liger has kernels for: the rotation of queries and keys, norms, and the ops
// between the matrix products of an MLP or its experts. AllLiger means all of them.
var LigerParts = []string{"rope", "norm", "mlp"}

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
