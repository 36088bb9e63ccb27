// SPDX-License-Identifier: Apache-2.0

package profile

import "snug/internal/kernel"

// Sums of a matrix over its rows occur in the gradients of biases and norm weights.
//
// With few rows the kernel needs no buffer. With about a thousand rows or more, it divides the work among blocks and
// briefly allocates a buffer, which grows with the rows until the card is fully used and can be larger than the
// matrix. Small recordings show the buffer only in part or not at all, so its size is computed as in the kernel.
//
// If the recording has the buffer, the sum is recognized by its sizes: a tensor allocated just before or freed just
// after must yield exactly this buffer size.
//
//	+ outputs·e   + buffer   + semaphores   - semaphores   - buffer
//
// If the recording has no buffer, sums are known to happen in two places. The backward of a linear layer allocates
// the gradients of input, weight and bias in this order, and then frees the incoming gradient. The gradient of a
// norm's weight sums a product that is allocated for it and freed right after.
//
//	+ rows·inputs·e   + outputs·inputs·e   + outputs·e   - rows·outputs·e
//	+ rows·outputs·e  + outputs·e   - rows·outputs·e
//
// The sizes must agree on rows, outputs and the element size e, so false matches are unlikely.

// columnSum is one of the two allocations that a column sum makes.
type columnSum struct {
	incoming   []term // bytes of the matrix
	columns    int64
	element    int64
	semaphores bool
}

// bytes returns the allocation's size on a card. See column_sum_find.go for how sums are found in the recording.
func (c *columnSum) bytes(monos []float64, on kernel.Rules) float64 {
	incoming := evaluate(c.incoming, monos)
	if incoming >= maxBytes {
		return incoming
	}
	buffer, semaphores := on.ColumnSum(int(incoming)/int(c.columns*c.element), int(c.columns), int(c.element))
	if c.semaphores {
		return float64(semaphores)
	}
	return float64(buffer)
}
