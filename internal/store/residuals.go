// SPDX-License-Identifier: Apache-2.0

package store

import "strings"

// Range is how far off predictions have been here: between what and what the
// measured peak lay, as a share of the predicted one less one.
type Range struct {
	Cases     int
	Low, High float64
}

// enough is how many runs say something about the next. With n of them, and
// nothing else known, the next lies between the lowest and the highest with a
// chance of (n-1)/(n+1): with three that is a half, and the interval still has
// the allocator's smallest step around it.
const enough = 3

// Alike is how far off the predictions of such runs have been on this card,
// under this PyTorch; ok is false where there were too few.
func (s *Store) Alike(card, torch, family string) (r Range, ok bool, err error) {
	runs, err := s.query("WHERE card = ? AND family = ? AND predicted > 0 AND reserved > 0", card, family)
	if err != nil || family == "" {
		return Range{}, false, err
	}
	for _, x := range runs {
		if minor(x.Torch) != minor(torch) {
			continue
		}
		off := float64(x.Reserved)/float64(x.Predicted) - 1
		if r.Cases == 0 {
			r.Low, r.High = off, off
		}
		r.Low, r.High = min(r.Low, off), max(r.High, off)
		r.Cases++
	}
	return r, r.Cases >= enough, nil
}

// minor is the first two parts of a version: what PyTorch allocates does not
// change within one.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}
