// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"strings"

	"snug/internal/estimate"
	"snug/internal/units"
)

// requestOf returns the request that ends a simulated run.
func requestOf(a *estimate.Answer) string {
	if a.OOM == nil {
		return "fits"
	}
	return units.Bytes(a.OOM.Segment).Torch()
}

// triedToAllocate returns the size in PyTorch's out-of-memory message.
func triedToAllocate(message string) string {
	_, rest, found := strings.Cut(message, "Tried to allocate ")
	size, _, _ := strings.Cut(rest, ". ")
	if !found {
		return "?"
	}
	return size
}
