// SPDX-License-Identifier: Apache-2.0

package smi

import (
	"regexp"

	"snug/internal/gpu"
)

// addSliceNames adds what the XML lacks: the profile and the UUID of each slice.
// `nvidia-smi -L` prints a line for each GPU, and under it a line for each slice:
//
//	GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-...)
//	  MIG 3g.20gb     Device  0: (UUID: MIG-e7c2f4a1-...)
func addSliceNames(r *gpu.Report, out []byte) {
	gpuLine := regexp.MustCompile(`^GPU \d+: .*\(UUID: ([^)]+)\)`)
	sliceLine := regexp.MustCompile(`^MIG (\S+)\s+Device\s+(\d+): \(UUID: ([^)]+)\)`)
	var current *gpu.Device
	for _, line := range lines(out) {
		if m := gpuLine.FindStringSubmatch(line); m != nil {
			current = nil
			for i := range r.Devices {
				if r.Devices[i].UUID == m[1] {
					current = &r.Devices[i]
				}
			}
		}
		m := sliceLine.FindStringSubmatch(line)
		if m == nil || current == nil {
			continue
		}
		for i := range current.Slices {
			if s := &current.Slices[i]; s.Index == number(m[2]) {
				s.Profile, s.UUID = m[1], m[3]
			}
		}
	}
}
