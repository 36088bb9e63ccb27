// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Order is how batches are formed from samples.
type Order int

// The orders.
const (
	AsDrawn      Order = iota // samples in the order drawn
	LongestFirst              // samples in the order drawn, but the step with the longest batch comes first
	Grouped                   // samples of similar length together, as with the Trainer's group_by_length
	Packed                    // samples packed into rows of the longest length, so that no batch is shorter
)

// megaBatch is the number of batches that the Trainer sorts by length at a time, limited to a quarter of an epoch
// (transformers 5.17, trainer_pt_utils.py, get_length_grouped_indices).
const megaBatch = 50

// Ordered returns the lengths in another order.
func (l *Lengths) Ordered(o Order) *Lengths {
	out := *l
	out.order = o
	return &out
}

// Padded returns the lengths with each batch padded to a multiple of unit tokens, but to no more than limit.
func (l *Lengths) Padded(unit, limit int) *Lengths {
	out := *l
	out.pad, out.most = unit, limit
	return &out
}

// CutTo returns the lengths with samples truncated to limit tokens.
func (l *Lengths) CutTo(limit int) *Lengths {
	out := *l
	out.cut = limit
	return &out
}

// Fixed returns lengths with the given tokens for each micro-batch of each step, which override all other fields.
func (l *Lengths) Fixed(tokens [][]int) *Lengths {
	out := *l
	out.fixed = tokens
	return &out
}

// Tokens returns the length of each micro-batch of each step, either from the list or drawn sample by sample. A batch
// is as long as its longest sample.
func (s *Setup) Tokens() [][]int {
	l := s.Lengths
	if l == nil {
		return nil
	}
	if l.fixed != nil {
		return l.fixed[:min(s.Steps, len(l.fixed))]
	}
	next := l.batches(rand.New(rand.NewPCG(uint64(s.Seed), 0)), s.Batch, s.Steps*max(s.Accumulation, 1))
	out := make([][]int, s.Steps)
	for i := range out {
		out[i] = make([]int, max(s.Accumulation, 1))
		for k := range out[i] {
			out[i][k] = l.padded(next(i))
		}
	}
	if l.order == LongestFirst {
		toFront(out)
	}
	return out
}

// batches returns a function that returns the length of the next batch, which belongs to step i. The run has n
// batches.
func (l *Lengths) batches(r *rand.Rand, samples, n int) func(i int) int {
	var group []int
	return func(i int) int {
		switch {
		case l.order == Packed:
			return l.Longest()
		case l.Each != nil:
			return l.Each[i%len(l.Each)]
		case l.order == Grouped:
			if len(group) == 0 {
				group = l.grouped(r, samples, n)
			}
			n := group[0]
			group = group[1:]
			return n
		}
		return l.longestOf(r, samples)
	}
}

// longestOf draws a batch of the given number of samples and returns its length.
func (l *Lengths) longestOf(r *rand.Rand, samples int) (n int) {
	for range samples {
		n = max(n, l.draw(r))
	}
	return n
}

// grouped returns the batches of a one-epoch run. Its samples are sorted by length within each mega-batch, and the
// longest of all is swapped with the first.
func (l *Lengths) grouped(r *rand.Rand, samples, batches int) []int {
	drawn := make([]int, batches*samples)
	for i := range drawn {
		drawn[i] = l.draw(r)
	}
	longest := 0
	for from, n := 0, samples*max(min(batches/4, megaBatch), 1); from < len(drawn); from += n {
		slices.SortFunc(drawn[from:min(from+n, len(drawn))], func(a, b int) int { return cmp.Compare(b, a) })
		if drawn[from] > drawn[longest] {
			longest = from
		}
	}
	drawn[0], drawn[longest] = drawn[longest], drawn[0]
	out := make([]int, batches)
	for i := range out {
		out[i] = slices.Max(drawn[i*samples : (i+1)*samples])
	}
	return out
}

// padded returns a length after truncation and padding.
func (l *Lengths) padded(n int) int {
	if l.cut > 0 {
		n = min(n, l.cut)
	}
	if l.pad == 0 {
		return n
	}
	return max(n, min((n+l.pad-1)/l.pad*l.pad, l.most))
}

// toFront moves the step with the longest batch to the front.
func toFront(steps [][]int) {
	at := longestStep(steps)
	first := steps[at]
	copy(steps[1:], steps[:at])
	steps[0] = first
}

// longestStep returns the index of the first step with the longest batch.
func longestStep(steps [][]int) (at int) {
	for i, s := range steps {
		if slices.Max(s) > slices.Max(steps[at]) {
			at = i
		}
	}
	return at
}

// Sampled returns the first steps of a run with varying lengths, and the step with its longest batch. Each has at
// most micros micro-batches: the first ones and the longest.
func Sampled(tokens [][]int, steps, micros int) [][]int {
	if len(tokens) == 0 {
		return nil
	}
	out := slices.Clone(tokens[:min(steps, len(tokens))])
	if at := longestStep(tokens); at >= len(out) {
		out[len(out)-1] = tokens[at]
	}
	for i, s := range out {
		if len(s) > micros {
			short := slices.Clone(s[:micros])
			short[micros-1] = max(short[micros-1], slices.Max(s))
			out[i] = short
		}
	}
	return out
}
