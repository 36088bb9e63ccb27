// SPDX-License-Identifier: Apache-2.0

package watch

import "testing"

// TestRare checks which long batches before the recent ones count: those whose absence may be chance.
func TestRare(t *testing.T) {
	const steps = 1000
	tests := map[string]struct {
		long func(step int) bool
		want int
	}{
		"none":                    {func(int) bool { return false }, 0},
		"every 200 steps":         {func(step int) bool { return step%200 == 0 && step < 700 }, 3},
		"often, but not any more": {func(step int) bool { return step%10 == 0 && step < 700 }, 8},
		"in the first steps":      {func(step int) bool { return step <= 20 }, 0},
		"recently too":            {func(step int) bool { return step == 300 || step == 900 }, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r rare
			var all []stepPeak
			for step := 1; step <= steps; step++ {
				s := stepPeak{step: step, allocated: 1, peak: 2}
				if tt.long(step) {
					s.peak = 5
				}
				r.add(s)
				all = append(all, s)
			}
			long := 0
			for _, s := range r.before(all[steps-kept:]) {
				if s.peak == 5 {
					long++
				}
			}
			if long != tt.want || len(r.most) > mostRare {
				t.Errorf("%d long batches count, want %d; %d are kept", long, tt.want, len(r.most))
			}
		})
	}
}
