// SPDX-License-Identifier: Apache-2.0

package estimate

// A search for a batch asks one question after another: does this batch fit? Each answer determines the next
// question. The order does not depend on the machine, so neither does the result; cores.go answers several questions
// at once.

// largestBatch is where the search stops, because no card could train with a larger batch.
const largestBatch = 1 << 20

// bisection is the state of a search.
type bisection interface {
	next() int                // the batch to ask about; 0 if the search is over
	after(yes bool) bisection // the state after the answer
}

// upward searches for the largest batch that fits: it doubles the batch until one does not fit, and then halves the
// gap.
type upward struct {
	low, high int  // the largest batch known to fit, and the smallest that does not or may not fit
	bounded   bool // high does not fit
}

func (u upward) next() int {
	switch {
	case !u.bounded && u.high <= largestBatch:
		return u.high
	case u.bounded && u.high-u.low > 1:
		return (u.low + u.high) / 2
	}
	return 0
}

func (u upward) after(fits bool) bisection {
	at := u.next()
	switch {
	case !fits:
		return upward{u.low, at, true}
	case !u.bounded:
		return upward{at, 2 * at, false}
	}
	return upward{at, u.high, true}
}

// downward searches for the largest batch that is sure to fit, downwards from the largest that fits. The answer is
// rarely far away, so it takes steps that double until a batch is safe, and then halves the gap.
type downward struct {
	low, high int  // the next batch to ask about or the largest safe one, and the smallest that is not safe
	step      int  // distance to the next batch
	bounded   bool // low is safe, or 0
}

func (d downward) next() int {
	switch {
	case !d.bounded:
		return d.low
	case d.high-d.low > 1:
		return (d.low + d.high) / 2
	}
	return 0
}

func (d downward) after(safe bool) bisection {
	at := d.next()
	switch {
	case safe:
		return downward{at, d.high, 0, true}
	case d.bounded:
		return downward{d.low, at, 0, true}
	}
	low := max(at-d.step, 0)
	return downward{low, at, 2 * d.step, low == 0}
}
