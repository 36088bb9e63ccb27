// SPDX-License-Identifier: Apache-2.0

package profile

// bound is the formula for sizes that no simple one explains.
func (s *solver) bound(obs []observation) *formula {
	high := uint64(0)
	for _, o := range obs {
		high = max(high, o.size)
	}
	return &formula{terms: []term{{int64(high), 0}}, certainty: Bounded}
}
