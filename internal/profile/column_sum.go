// SPDX-License-Identifier: Apache-2.0

package profile

import "snug/internal/kernel"

// Sums of a matrix over its rows: the gradients of biases and of norms' weights.
//
// With few rows the kernel needs nothing; from about a thousand on it shares the
// work among blocks and takes a buffer briefly, which grows with the rows
// until the card is full and can be larger than the matrix. Small recordings do
// not show it, or only its beginning, so it is computed as the kernel does.
//
// Where the recording has the buffer, the sum is known by its sizes: whatever is
// allocated right before or freed right after must give just this buffer.
//
//	+ outputs·e   + buffer   + semaphores   - semaphores   - buffer
//
// Where it has none, two places are known to sum. The backward of a linear layer
// allocates the gradients of input, weight and bias one after the other, and
// then lets the incoming gradient go; a norm's weight takes the sum of a product
// that is made for it and goes right after.
//
//	+ rows·inputs·e   + outputs·inputs·e   + outputs·e   - rows·outputs·e
//	+ rows·outputs·e  + outputs·e   - rows·outputs·e
//
// The sizes have to agree on rows, outputs and the bytes e of an element, which
// leaves little room for mistakes.

// columnSum is one of the two allocations of such a sum.
type columnSum struct {
	incoming   []term // bytes of the matrix
	columns    int64
	element    int64
	semaphores bool
}

// bytes is its size on a card.
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
