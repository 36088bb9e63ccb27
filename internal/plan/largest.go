// SPDX-License-Identifier: Apache-2.0

package plan

import "sort"

// largest returns the index (among splits) of the largest batch of a variant that fits; -1 if none does.
func (s *search) largest(v settings, r room) (int, error) {
	low, high := -1, len(s.batches)
	if s.long {
		high = s.possible(v, r)
	}
	for tries := 0; high-low > 1 && !s.hopeless(v, r); tries++ {
		at := (low + high) / 2
		if s.long && tries < 2 {
			at = high - 1
		}
		c, fits, err := s.tried(s.split(v, s.batches[at]))
		if err == nil && fits {
			_, fits, err = s.placed(c, r)
		}
		if err != nil {
			return -1, err
		}
		if fits {
			low = at
		} else {
			high = at
		}
	}
	return low, nil
}

// possible returns the number of batches of a variant whose tensors alone are not too large for a room. It does not
// play a run. If playing takes a long time, the largest of these batches are tried first, because one of them nearly
// always fits.
func (s *search) possible(v settings, r room) int {
	return sort.Search(len(s.batches), func(i int) bool {
		c, err := s.timed(s.split(v, s.batches[i]))
		return err == nil && c.probe.Exceeds(s.reservable(c.settings, r))
	})
}

// hopeless reports whether settings are known not to fit a room at any batch.
func (s *search) hopeless(x settings, r room) bool { return s.floor(x) > s.reservable(x, r) }

// split returns a variant at a batch, with the matching accumulation.
func (s *search) split(v settings, batch int) settings {
	v.batch, v.accumulation = batch, max(s.share/batch, 1)
	if s.rules.locked["accumulation"] {
		v.accumulation = s.today.accumulation
	}
	return v
}
