// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"math/rand/v2"
	"slices"
)

// How much a ragged run reserves depends on the order in which its batches come: two runs over the same data
// with different seeds were up to 40 % apart. A program that sets its seeds takes its samples in the same order
// each time, whatever the batch. Recordings show whether it does, and then that order is played.

// inOrder takes the samples, or the smallest batches, in the order of the run, if all recordings have the same.
func (r *raggedFitter) inOrder(d *data) bool {
	each := int64(1)
	orders := r.orders(func(n *notes) []unit { return r.units(n.Ahead.Order) })
	if orders == nil && d.Batch >= 0 {
		each = r.batchOf(0, d)
		orders = r.orders(r.batches)
		for k := range orders {
			if each > r.batchOf(k, d) {
				return false
			}
		}
	}
	if len(orders) < 2 {
		return false
	}
	for k := 1; k < len(orders); k++ {
		a, b := each, each
		if each > 1 {
			b = r.batchOf(k, d)
		}
		if !sameOrder(orders[0], orders[k], a, b, d.Rules) {
			return false
		}
	}
	d.Source, d.Unit, d.Units, d.Order = FromBatches, each, orders[0][:min(len(orders[0]), maxUnits)], true
	if each == 1 {
		d.Source = FromSamples
	}
	return true
}

// batches are the batches of a run, those of the recorded steps and the next ones.
func (r *raggedFitter) batches(n *notes) []unit {
	var all []inputs
	for _, b := range n.Batches {
		all = append(all, b.Inputs)
	}
	return r.units(append(all, n.Ahead.Batches...))
}

// orders are the units of each recording; nil if one has none.
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

// sameOrder reports whether units of a samples each and units of b samples each are the same samples in the same
// order, as far as both go.
func sameOrder(x, y []unit, a, b int64, rules []string) bool {
	i, j := int(b), int(a) // that many of x are as many samples as that many of y
	for ; i > 1 && j > 1 && i%2 == 0 && j%2 == 0; i, j = i/2, j/2 {
	}
	for g := 0; (g+1)*i <= len(x) && (g+1)*j <= len(y); g++ {
		if !slices.Equal(joined(x[g*i:(g+1)*i], rules), joined(y[g*j:(g+1)*j], rules)) {
			return false
		}
	}
	return i <= len(x) && j <= len(y)
}

// joined is the quantities of a batch that is made of units.
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

// next is step i of the run in its order; nil where the known order ends.
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

// between is step i where its batch does not consist of whole units: the units that it touches, of sums their
// share.
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

// inOrder is a run of so many steps in the known order, then at random.
func (rg *ragged) inOrder(random *rand.Rand, samples int64, steps int) drawn {
	out := make(drawn, steps)
	for i := range out {
		if out[i] = rg.next(i, samples); out[i] == nil {
			out[i] = rg.draw(random, samples)
		}
	}
	return out
}
