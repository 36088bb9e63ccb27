// SPDX-License-Identifier: Apache-2.0

package gpu

// links contains the one-way bandwidth of NVLink and Infinity Fabric in GB/s: half of the total in the data sheet.
// Cards that are not listed use PCIe.
var links = map[string]float64{
	"B300": 900, "GB200": 900, "B200": 900, "B100": 900, // NVLink 5
	"GH200": 450, "GH200-144GB": 450, "H200": 450, "H200-NVL": 450, "H100-80GB": 450, "H20": 450, // NVLink 4
	"H100-NVL": 300, "H800": 200,
	"A100-80GB": 300, "A100-40GB": 300, "A800-80GB": 200, // NVLink 3
	"V100-32GB": 150, "V100-16GB": 150, // NVLink 2
	"P100":   80,
	"MI355X": 538, "MI350X": 538, "MI325X": 448, "MI300X": 448, "MI300A": 384, // seven links
	"MI250X": 200, "MI250": 150, "MI210": 150, "MI100": 138,
}

// One-way bandwidth of an x16 slot in GB/s, by generation.
const (
	pcie3 = 16
	PCIe4 = 32
	pcie5 = 64
)

// link returns the bandwidth, in bytes per second in each direction, between two of these cards in one
// machine.
func (s spec) link(c Card) float64 {
	if rate, ok := links[s.name]; ok {
		return rate * 1e9
	}
	switch {
	case c.Capability >= 90 || c.Arch == "gfx950":
		return pcie5 * 1e9
	case c.Maker == NVIDIA && c.Capability < 80:
		return pcie3 * 1e9
	}
	return PCIe4 * 1e9
}

// withoutPeers halves the bandwidth of GeForce cards since Ada. Their driver does not support peer-to-peer copies,
// so data goes through host memory.
func withoutPeers(cards []entry) []entry {
	for i := range cards {
		if cards[i].Capability >= 89 {
			cards[i].Link /= 2
		}
	}
	return cards
}

// network returns the bandwidth, in bytes per second, between machines: the sum over all network adapters, because a
// ring of GPUs uses them in parallel. NVIDIA's own machines have four 100 Gbit/s adapters with the V100, eight of 200
// with the A100 and eight of 400 from the H100 on.
func network(c Card) float64 {
	switch {
	case c.Capability >= 90 || c.Maker == AMD:
		return 400e9
	case c.Capability >= 80:
		return 200e9
	}
	return 50e9
}
