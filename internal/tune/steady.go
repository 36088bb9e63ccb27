// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"math"
	"slices"
)

// WarmUp is the number of first steps whose times are ignored: they choose kernels, fill the allocator's cache and
// allocate the optimizer states. The probe skips the same number before it decides whether a run is steady.
const WarmUp = 3

// Speed returns the mean step time after the warm-up, and the half-width of its 95 % confidence interval as a
// fraction of the mean. It uses the mean, not the median, because slow steps cost time too. With too few steps, the
// noise is 1.
func Speed(times []float64) (seconds, noise float64) {
	if len(times) > WarmUp {
		times = times[WarmUp:]
	}
	times = slices.DeleteFunc(slices.Clone(times), func(t float64) bool { return !(t > 0) || math.IsInf(t, 0) })
	n := float64(len(times))
	if n == 0 {
		return 0, 1
	}
	sum := 0.0
	for _, t := range times {
		sum += t
	}
	mean := sum / n
	if n < 2 {
		return mean, 1
	}
	squares := 0.0
	for _, t := range times {
		squares += (t - mean) * (t - mean)
	}
	deviation := math.Sqrt(squares / (n - 1))
	return mean, min(student(len(times)-1)*deviation/math.Sqrt(n)/mean, 1)
}

// student95 has the two-sided 95 % quantiles of Student's distribution for 1, 2, ... degrees of freedom.
var student95 = [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086}

func student(freedom int) float64 {
	if freedom <= len(student95) {
		return student95[freedom-1]
	}
	return 1.96 + 2.5/float64(freedom) // within 0.01 of the quantile
}
