// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"slices"
)

// rare keeps the steps of a run that needed the most above what stays: the longest batches, or those that follow a checkpoint. They come
// so rarely that there may be none among the recent steps.
type rare struct {
	most  []stepPeak // sorted, what needed the most first
	count int        // steps so far
}

const (
	mostRare = 32  // how many are kept
	byChance = 3.0 // rare steps whose absence may still be chance, with a probability of 5 %, are expected at most this often
)

func (s stepPeak) above() float64 { return s.peak - s.allocated }

// add adds a step. The first steps do not count: libraries try algorithms then.
func (r *rare) add(s stepPeak) {
	r.count++
	if r.count <= slowStart || s.afterEval {
		return
	}
	i, _ := slices.BinarySearchFunc(r.most, s, func(a, b stepPeak) int { return cmp.Compare(b.above(), a.above()) })
	if i >= mostRare {
		return
	}
	r.most = slices.Insert(r.most, i, s)
	r.most = r.most[:min(len(r.most), mostRare)]
}

// before returns the rare steps before the recent ones, as many as may be missing among these by chance. If more are missing, the
// batches are no longer the same.
func (r *rare) before(recent []stepPeak) []stepPeak {
	if len(recent) == 0 {
		return nil
	}
	var out []stepPeak
	for _, s := range r.most {
		if s.step < recent[0].step {
			out = append(out, s)
		}
	}
	earlier := float64(max(1, r.count-len(recent)))
	return out[:min(len(out), int(byChance*earlier/float64(len(recent))))]
}
