// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"strings"
)

// Hidden is the ordinal of a device that PyTorch would not see.
const Hidden = -1

// Device is a GPU that is there.
type Device struct {
	Maker      Maker     `json:"maker"`
	Index      int       `json:"index"` // as nvidia-smi or amd-smi count
	Name       string    `json:"name"`  // as the driver prints it
	UUID       string    `json:"uuid,omitempty"`
	Bus        string    `json:"bus,omitempty"`
	Total      uint64    `json:"total"`              // what processes can be given: the driver's own share is off
	Reserved   uint64    `json:"reserved,omitempty"` // the driver's own share, where it says so
	Used       uint64    `json:"used"`
	Free       uint64    `json:"free"`
	Arch       string    `json:"arch,omitempty"`
	Capability int       `json:"capability,omitempty"`
	SMs        int       `json:"multiprocessors,omitempty"`
	ECC        string    `json:"ecc,omitempty"` // "on", "off", or unknown
	Processes  []Process `json:"processes,omitempty"`
	MIG        bool      `json:"mig,omitempty"` // cut into slices, or about to be
	Slices     []Slice   `json:"slices,omitempty"`
	Ordinal    int       `json:"ordinal"` // PyTorch's cuda:N, or Hidden
}

// Slice is a part of a GPU that stands for a whole one (MIG).
type Slice struct {
	Index           int       `json:"index"`
	Profile         string    `json:"profile"` // 1g.10gb
	UUID            string    `json:"uuid,omitempty"`
	GPUInstance     int       `json:"gpu_instance"`
	ComputeInstance int       `json:"compute_instance"`
	Total           uint64    `json:"total"`
	Used            uint64    `json:"used"`
	Free            uint64    `json:"free"`
	SMs             int       `json:"multiprocessors,omitempty"`
	Processes       []Process `json:"processes,omitempty"`
	Ordinal         int       `json:"ordinal"`
}

// Process is one that holds memory of a GPU.
type Process struct {
	PID  int    `json:"pid"`
	Name string `json:"name,omitempty"`
	Used uint64 `json:"used,omitempty"` // 0 where the driver does not tell
}

// Unclaimed is the memory in use that no process in the list accounts for:
// other containers', other users' or the driver's.
func (d Device) Unclaimed() uint64 {
	rest := d.Used
	for _, p := range d.Processes {
		rest -= min(rest, p.Used)
	}
	for _, s := range d.Slices {
		for _, p := range s.Processes {
			rest -= min(rest, p.Used)
		}
	}
	return rest
}

// Card is the device as the planner takes it: the catalogue's card with the
// memory that is really there. A card that is not in the catalogue is one of
// its memory, under its own name.
func (d Device) Card() Card {
	c, err := Find(d.Name)
	if err != nil {
		c, err = d.likely()
	}
	if err != nil {
		c = ForMemory(d.Total)
		c.Name, c.Maker, c.Unnamed = d.Name, d.Maker, false
		if d.Arch != "" {
			c.Arch, c.Capability = d.Arch, d.Capability
		}
	}
	if d.Total > 0 {
		c.Total, c.Seen = d.Total, true
	}
	if d.SMs > 0 {
		c.SMs = d.SMs
	}
	return c
}

// likely is the one card that the device can be by what the driver says of it,
// where it does not say its name: AMD's kernel driver gives desktop cards none.
func (d Device) likely() (Card, error) {
	var found []Card
	for _, e := range catalogue() {
		off := float64(e.Total) / float64(max(d.Total, 1))
		if d.SMs > 0 && e.SMs == d.SMs && e.Arch == d.Arch && off > 0.97 && off < 1.03 {
			found = append(found, e.Card)
		}
	}
	if len(found) != 1 {
		return Card{}, fmt.Errorf("%q is not in the catalogue", d.Name)
	}
	return found[0], nil
}

// Card is a slice of a device as the planner takes it. A slice has its share of
// the multiprocessors' rate, and of the bandwidth as much as of the memory.
func (s Slice) Card(of Device) Card {
	c := of.Card()
	c.Name = strings.TrimSpace(c.Name + " MIG " + s.Profile)
	if s.SMs > 0 && c.SMs > 0 {
		share := float64(s.SMs) / float64(c.SMs)
		r := c.Rates
		c.Rates = Rates{r.FP32 * share, r.TF32 * share, r.FP16 * share, r.BF16 * share, r.FP8 * share}
		c.SMs = s.SMs
	}
	if s.Total > 0 && c.Total > 0 {
		c.Bandwidth *= float64(s.Total) / float64(c.Total)
		c.Total = s.Total
	}
	c.Measured = false
	return c
}
