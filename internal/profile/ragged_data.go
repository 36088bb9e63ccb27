// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// data is the values that a step's quantities can have. A unit is a single sample or a batch, whichever was observed.
// Batches of other sizes are composed of units.
type data struct {
	Source string   `json:"source"` // FromSamples, FromBatches or FromSteps
	Unit   int64    `json:"unit"`   // samples in a unit
	Units  []unit   `json:"units"`
	Rules  []string `json:"rules"`            // by quantity: how units combine into a batch
	Batch  int      `json:"batch"`            // index of the run's quantity that is the number of samples, or -1
	Order  bool     `json:"order,omitempty"`  // units are in the order of the run
	Sorted bool     `json:"sorted,omitempty"` // the program chooses which samples form a batch, so units are not combined at random
}

// unit holds the values of the quantities before rounding.
type unit []int64

// The rules: a batch is padded to its longest sample, has the total of its samples, or always has the same size.
const (
	longest = "max"
	total   = "sum"
)

// The sources: individual samples of the dataset, batches that the loader would have returned next, and the recorded
// steps themselves.
const (
	FromSamples = "samples"
	FromBatches = "batches"
	FromSteps   = "steps"
)

// enoughBatches is the smallest number of batches that are used instead of the recorded steps.
const enoughBatches = 8

// data returns the values that the quantities can have, from the best available source.
func (r *raggedFitter) data() data {
	d := data{Batch: batchAmong(r.table.run)}
	for i, q := range r.program.ragged.quantities {
		d.Rules = append(d.Rules, r.rule(i, q))
	}
	n := r.notes[len(r.notes)-1]
	d.Sorted = n.Loader.Sampler != "" && n.Loader.Sampler != "BatchSampler" && n.Loader.Sampler != "NoneType"
	switch {
	case r.inOrder(&d):
	case !d.Sorted && r.fromSamples(&d):
	case r.fromCalls(&d):
	case r.fromBatches(&d):
	default:
		r.fromSteps(&d)
	}
	return d
}

// fromSamples fills d with samples of the dataset, and reports whether the loader provided every quantity.
func (r *raggedFitter) fromSamples(d *data) bool {
	var units []unit
	for _, n := range r.notes {
		units = append(units, r.units(n.Ahead.Samples)...)
		units = append(units, r.units(n.Ahead.Order)...)
	}
	if len(units) < enoughBatches {
		return false
	}
	d.Source, d.Unit, d.Units = FromSamples, 1, thinned(units)
	return true
}

// fromBatches fills d with the batches that would have come next, and reports whether there are enough.
func (r *raggedFitter) fromBatches(d *data) bool {
	k := len(r.notes) - 1
	units := r.units(r.notes[k].Ahead.Batches)
	if len(units) < enoughBatches {
		return false
	}
	d.Source, d.Unit, d.Units = FromBatches, r.batchOf(k, d), thinned(units)
	return true
}

// fromCalls fills d with the lengths of single samples, and reports whether an argument of the model contains them,
// as a mask or padded rows.
func (r *raggedFitter) fromCalls(d *data) bool {
	var units []unit
	for k, n := range r.notes {
		s := 0
		for _, c := range n.Calls {
			if !c.Grad || s >= len(r.sections[k])-1 {
				continue
			}
			each := r.eachOf(c, r.sections[k][s+1].point, d)
			if each == nil {
				return false
			}
			units = append(units, each...)
			s++
		}
	}
	d.Source, d.Unit, d.Units = FromSteps, 1, thinned(units)
	return !d.Sorted && len(units) > 0
}

// eachOf returns the samples of a call, from a tensor whose longest and total lengths determine all quantities of the
// step; nil if there is no such tensor.
func (r *raggedFitter) eachOf(c noted, point int, d *data) []unit {
	for _, name := range slices.Sorted(keys(c.Inputs)) {
		t := c.Inputs[name]
		fits := len(t.Each) > 0
		for i, q := range r.program.ragged.quantities {
			v := r.table.rows[point][q.Column]
			fits = fits && (d.Rules[i] == longest && t.Most == v || d.Rules[i] == total && t.Sum == v)
		}
		if !fits {
			continue
		}
		var out []unit
		for _, n := range t.Each {
			u := unit{}
			for range r.program.ragged.quantities {
				u = append(u, n)
			}
			out = append(out, u)
		}
		return out
	}
	return nil
}

// fromSteps fills d with the recorded steps of the largest run.
func (r *raggedFitter) fromSteps(d *data) {
	k := len(r.notes) - 1
	d.Source, d.Unit = FromSteps, r.batchOf(k, d)
	for _, s := range r.sections[k][1:] {
		u := unit{}
		for _, q := range r.program.ragged.quantities {
			u = append(u, r.table.rows[s.point][q.Column])
		}
		d.Units = append(d.Units, u)
	}
}

func (r *raggedFitter) batchOf(k int, d *data) int64 {
	if d.Batch < 0 {
		return 1
	}
	return r.points[k][d.Batch]
}

// units returns the quantities of the loader's batches, or nil if the loader does not show all of them.
func (r *raggedFitter) units(batches []inputs) []unit {
	var out []unit
	for _, b := range batches {
		columns := b.columns()
		u := unit{}
		for _, q := range r.program.ragged.quantities {
			v, ok := columns[strings.TrimPrefix(q.Column, fromData)]
			if !ok || !strings.HasPrefix(q.Column, fromData) || v < 0 || v > maxQuantity {
				return nil
			}
			u = append(u, v)
		}
		out = append(out, u)
	}
	return out
}

// rule returns how samples combine into a batch for quantity i. It is derived from groups of samples that the loader
// collated, or else from how the quantity grows with the batch.
func (r *raggedFitter) rule(i int, q quantity) string {
	sums, most, groups := 0, 0, 0
	for _, n := range r.notes {
		units, joined := r.units(n.Ahead.Samples), r.units(n.Ahead.Groups)
		for g := range joined {
			if (g+1)*groupOf > len(units) {
				break
			}
			a, b := int64(0), int64(0)
			for _, u := range units[g*groupOf : (g+1)*groupOf] {
				a, b = a+u[i], max(b, u[i])
			}
			groups++
			if joined[g][i] == a {
				sums++
			}
			if joined[g][i] == b {
				most++
			}
		}
	}
	if groups > 0 && sums > most {
		return total
	}
	if groups > 0 && most > sums {
		return longest
	}
	return r.ruleByGrowth(q)
}

// ruleByGrowth returns the rule suggested by the means of the smallest and the largest batch.
func (r *raggedFitter) ruleByGrowth(q quantity) string {
	mean := func(k int) float64 {
		sum, n := 0.0, 0.0
		for _, s := range r.sections[k][1:] {
			sum, n = sum+float64(r.table.rows[s.point][q.Column]), n+1
		}
		return sum / n
	}
	last := len(r.notes) - 1
	grew, batch := mean(last)/mean(0), 1.0
	for i := range r.table.run {
		batch *= float64(r.points[last][i]) / float64(r.points[0][i])
	}
	if math.Log(grew) > 0.7*math.Log(batch) {
		return total
	}
	return longest
}

// maxUnits is the largest number of units in a profile.
const maxUnits = 4000

// thinned returns at most maxUnits of the units, evenly spaced.
func thinned(units []unit) []unit {
	if len(units) <= maxUnits {
		return units
	}
	var out []unit
	for i := range maxUnits {
		out = append(out, units[i*len(units)/maxUnits])
	}
	return out
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// maxDrawn limits the units drawn for a step. With this many, the longest sample of the data is among them, and their
// sum is close to the expected one.
const maxDrawn = 4096

// draw returns random quantities for a step with this many samples.
func (rg *ragged) draw(random *rand.Rand, samples int64) []int64 {
	d := &rg.data
	share := float64(samples) / float64(d.Unit)
	n := max(1, min(maxDrawn, int(math.Ceil(share-1e-9))))
	if d.Batch < 0 {
		share, n = 1, 1
	}
	sums, most := make([]float64, len(rg.quantities)), make([]int64, len(rg.quantities))
	first := d.Units[random.IntN(len(d.Units))]
	for k := range n {
		u := first
		if k > 0 {
			u = d.Units[random.IntN(len(d.Units))]
		}
		for i, v := range u {
			sums[i], most[i] = sums[i]+float64(v), max(most[i], v)
		}
	}
	out := make([]int64, len(rg.quantities))
	for i, q := range rg.quantities {
		v := most[i]
		switch {
		case d.Rules[i] == total:
			v = int64(math.Round(sums[i] * share / float64(n)))
		case d.Sorted:
			v = first[i]
		}
		out[i] = q.of(v)
	}
	return out
}
