// SPDX-License-Identifier: Apache-2.0

package estimate

// interval is where the true peak of reserved bytes is to be expected.
func (a *Answer) interval() [2]uint64 {
	low, high := residual(a.Setup)
	return [2]uint64{uint64(float64(a.PeakReserved) * (1 + low)), uint64(float64(a.PeakReserved) * (1 + high))}
}
