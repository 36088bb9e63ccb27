// SPDX-License-Identifier: Apache-2.0

package profile

import "snug/internal/kernel"

// Sums of a matrix over its rows: the gradients of biases and of norms' weights.
//
// With few rows the kernel needs no buffer. From about a thousand rows on it divides the work among blocks
// and briefly takes a buffer, which grows with the rows until the card is full and can be larger than the
// matrix. Small recordings show it only in part or not at all, so it is computed as in the kernel.
//
// If the recording has the buffer, the sum is recognized by its sizes: a tensor allocated just before or
// freed just after must give exactly this buffer.
//
//	+ outputs·e   + buffer   + semaphores   - semaphores   - buffer
//
// If it has none, there are two places where a sum is known to happen. The backward of a linear layer allocates the gradients of
// input, weight and bias in this order, and then frees the incoming gradient. A norm's weight takes the
// sum of a product that is made for it and freed right after.
//
//	+ rows·inputs·e   + outputs·inputs·e   + outputs·e   - rows·outputs·e
//	+ rows·outputs·e  + outputs·e   - rows·outputs·e
//
// The sizes have to agree on rows, outputs and the bytes e of an element, so mistakes are unlikely.

// columnSum is one of the two allocations of such a sum.
type columnSum struct {
	incoming   []term // bytes of the matrix
	columns    int64
	element    int64
	semaphores bool
}

// bytes returns its size on a card. How the recording's sums are found: column_sum_find.go.
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
