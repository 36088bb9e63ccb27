// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"math/rand/v2"
	"slices"
)

// How much a ragged run reserves depends on the order of its batches: two runs over the same data with different
// seeds differed by up to 40 %. A program that sets its seeds uses its samples in the same order each time, whatever
// the batch. Recordings show whether it does; if so, that order is played.

// inOrder fills d with the samples, or with the smallest batches, in the order of the run, whichever cover more
// steps. It reports whether all recordings have the same order.
func (r *raggedFitter) inOrder(d *data) bool {
	if d.Batch < 0 || d.Sorted {
		return false
	}
	samples := r.orders(func(n *notes) []unit { return r.units(n.Ahead.Order) })
	batches := r.orders(r.batches)
	one := func(int) int64 { return 1 }
	each := func(k int) int64 { return r.batchOf(k, d) }
	if samples != nil && !r.agree(samples, one, d) {
		return false // the order differs between recordings
	}
	if batches != nil && !r.agree(batches, each, d) {
		batches = nil
	}
	switch {
	case samples != nil && (batches == nil || len(samples[0]) >= len(batches[0])*int(each(0))):
		d.Source, d.Unit, d.Units = FromSamples, 1, samples[0]
	case batches != nil:
		d.Source, d.Unit, d.Units = FromBatches, each(0), batches[0]
	default:
		return false
	}
	d.Order, d.Units = true, d.Units[:min(len(d.Units), maxUnits)]
	return true
}

// agree reports whether the units of all recordings are in the same order.
func (r *raggedFitter) agree(orders [][]unit, samples func(recording int) int64, d *data) bool {
	for k := 1; k < len(orders); k++ {
		if samples(k) < samples(0) || !sameOrder(orders[0], orders[k], samples(0), samples(k), d.Rules) {
			return false
		}
	}
	return true
}

// batches returns the batches of a run: those of the recorded steps, then those that would have come next.
func (r *raggedFitter) batches(n *notes) []unit {
	var all []inputs
	for _, b := range n.Batches {
		all = append(all, b.Inputs)
	}
	return r.units(append(all, n.Ahead.Batches...))
}

// orders returns the units of each recording, or nil if a recording has none.
func (r *raggedFitter) orders(of func(*notes) []unit) [][]unit {
	var out [][]unit
	for _, n := range r.notes {
		units := of(n)
		if len(units) < enoughBatches {
			return nil
		}
		out = append(out, units)
	}
	return out
}

// sameOrder reports whether x, with a samples per unit, and y, with b samples per unit, contain the same samples in
// the same order, up to the end of the shorter one.
func sameOrder(x, y []unit, a, b int64, rules []string) bool {
	i, j := int(b), int(a) // i units of x have as many samples as j units of y
	for ; i > 1 && j > 1 && i%2 == 0 && j%2 == 0; i, j = i/2, j/2 {
	}
	for g := 0; (g+1)*i <= len(x) && (g+1)*j <= len(y); g++ {
		if !slices.Equal(joined(x[g*i:(g+1)*i], rules), joined(y[g*j:(g+1)*j], rules)) {
			return false
		}
	}
	return i <= len(x) && j <= len(y)
}

// joined returns the quantities of a batch composed of units.
func joined(units []unit, rules []string) unit {
	out := make(unit, len(rules))
	for _, u := range units {
		for i, v := range u {
			if rules[i] == total {
				out[i] += v
			} else {
				out[i] = max(out[i], v)
			}
		}
	}
	return out
}

// next returns the quantities of step i of the run, or nil after the end of the known order.
func (rg *ragged) next(i int, samples int64) []int64 {
	d := &rg.data
	if samples%d.Unit != 0 {
		return rg.between(i, samples)
	}
	n := int(samples / d.Unit)
	if (i+1)*n > len(d.Units) {
		return nil
	}
	out := joined(d.Units[i*n:(i+1)*n], d.Rules)
	for k, q := range rg.quantities {
		out[k] = q.of(out[k])
	}
	return out
}

// between returns the quantities of step i if its batch does not consist of whole units: those of all units that it
// overlaps, with totals scaled to its number of samples.
func (rg *ragged) between(i int, samples int64) []int64 {
	d := &rg.data
	from, to := int64(i)*samples, int64(i+1)*samples
	first, last := int(from/d.Unit), int((to-1)/d.Unit)
	if last >= len(d.Units) {
		return nil
	}
	units := d.Units[first : last+1]
	out := joined(units, d.Rules)
	for k, q := range rg.quantities {
		if d.Rules[k] == total {
			out[k] = out[k] * samples / (int64(len(units)) * d.Unit)
		}
		out[k] = q.of(out[k])
	}
	return out
}

// inOrder returns a run of the given number of steps: first in the known order, then at random.
func (rg *ragged) inOrder(random *rand.Rand, samples int64, steps int) drawn {
	out := make(drawn, steps)
	for i := range out {
		if out[i] = rg.next(i, samples); out[i] == nil {
			out[i] = rg.draw(random, samples)
		}
	}
	return out
}
