// SPDX-License-Identifier: Apache-2.0

package gpu

import "fmt"

// Hidden is the ordinal of a device that PyTorch would not see.
const Hidden = -1

// Device is one of this machine's GPUs.
type Device struct {
	Maker      Maker     `json:"maker"`                     // manufacturer
	Index      int       `json:"index"`                     // index in nvidia-smi or amd-smi
	Name       string    `json:"name"`                      // as the driver prints it
	UUID       string    `json:"uuid,omitempty"`            // the GPU's unique ID
	Bus        string    `json:"bus,omitempty"`             // PCI address
	Total      uint64    `json:"total"`                     // bytes available to processes, without the driver's share
	Reserved   uint64    `json:"reserved,omitempty"`        // bytes reserved by the driver, if it reports them
	Used       uint64    `json:"used"`                      // bytes in use by all processes
	Free       uint64    `json:"free"`                      // bytes not in use
	Arch       string    `json:"arch,omitempty"`            // sm_90, or AMD's gfx942
	Capability int       `json:"capability,omitempty"`      // compute capability: 90 for sm_90
	SMs        int       `json:"multiprocessors,omitempty"` // or AMD's compute units
	ECC        string    `json:"ecc,omitempty"`             // "on", "off", or unknown
	Processes  []Process `json:"processes,omitempty"`       // the processes that use the GPU
	MIG        bool      `json:"mig,omitempty"`             // MIG mode is on or pending
	Slices     []Slice   `json:"slices,omitempty"`          // its MIG slices
	Ordinal    int       `json:"ordinal"`                   // PyTorch's cuda:N, or Hidden
}

// Slice is a part of a GPU that acts as a complete GPU (MIG).
type Slice struct {
	Index           int       `json:"index"`                     // index within the GPU
	Profile         string    `json:"profile"`                   // 1g.10gb
	UUID            string    `json:"uuid,omitempty"`            // the slice's unique ID
	GPUInstance     int       `json:"gpu_instance"`              // NVIDIA's number for the slice
	ComputeInstance int       `json:"compute_instance"`          // NVIDIA's number within the GPU instance
	Total           uint64    `json:"total"`                     // bytes
	Used            uint64    `json:"used"`                      // bytes
	Free            uint64    `json:"free"`                      // bytes
	SMs             int       `json:"multiprocessors,omitempty"` // the slice's own
	Processes       []Process `json:"processes,omitempty"`       // the processes that use the slice
	Ordinal         int       `json:"ordinal"`                   // PyTorch's cuda:N, or Hidden
}

// Process is a process that uses memory on a GPU.
type Process struct {
	PID  int    `json:"pid"`            // process ID
	Name string `json:"name,omitempty"` // of the executable
	Used uint64 `json:"used,omitempty"` // bytes; 0 if the driver does not report them

	Util *float64 `json:"util,omitempty"` // percent of recent time that its kernels were running, if the driver reports it
}

// Unclaimed returns the memory in use that the listed processes do not account for: it belongs to other containers,
// other users or the driver.
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

// Card returns the device as a card for planning: the catalog's entry with this device's memory. A card that is not
// in the catalog has only its memory and its own name.
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

// likely returns the only card that matches the driver's figures. It is for drivers that report no name, such as
// AMD's kernel driver for desktop cards.
func (d Device) likely() (Card, error) {
	var found []Card
	for _, e := range catalog() {
		off := float64(e.Total) / float64(max(d.Total, 1))
		if d.SMs > 0 && e.SMs == d.SMs && e.Arch == d.Arch && off > 0.97 && off < 1.03 {
			found = append(found, e.Card)
		}
	}
	if len(found) != 1 {
		return Card{}, fmt.Errorf("%q is not in the catalog", d.Name)
	}
	return found[0], nil
}

// Card returns a device's slice as a card for planning. Its rates scale with its multiprocessors, and its bandwidth
// with its memory.
func (s Slice) Card(of Device) Card {
	c := of.Card()
	c.Name = SliceName(c.Name, s.Profile)
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
