// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"slices"
)

// Source is a way to list this machine's GPUs: a library, a program, or the kernel's files.
type Source interface {
	// Name returns the name of the program or library that is queried.
	Name() string
	// Maker returns the manufacturer of the listed GPUs.
	Maker() Maker
	// Report lists the GPUs.
	Report(context.Context) (*Report, error)
}

// Report is a source's answer.
type Report struct {
	Driver  string   // version
	Runtime string   // the newest CUDA, or the ROCm, that the driver supports
	Devices []Device // in the source's order
}

// Machine contains this machine's GPUs, and the sources that reported them.
type Machine struct {
	Devices []Device  // all GPUs
	Drivers []Driver  // one for each manufacturer with GPUs
	Tried   []Attempt // every source that was queried
	Notes   []string  // notes for the user about GPU numbering
}

// Driver is the driver for one manufacturer's cards.
type Driver struct {
	Maker   Maker  `json:"maker"`             // manufacturer of the GPUs
	Version string `json:"version,omitempty"` // of the driver
	Runtime string `json:"runtime,omitempty"` // the newest CUDA or ROCm release that the driver supports
	Source  string `json:"source"`            // the name of the Source that reported the driver
}

// Attempt is a source that was tried; Err is nil if it succeeded.
type Attempt struct {
	Source string // the name of the Source
	Err    error  // nil if it succeeded
}

// Detect tries the sources in order. Once a source has listed a manufacturer's GPUs, that manufacturer's other
// sources are skipped. A source that fails becomes an Attempt with its error; Detect itself never fails.
func Detect(ctx context.Context, sources []Source) *Machine {
	m := &Machine{}
	for _, s := range sources {
		if slices.ContainsFunc(m.Drivers, func(d Driver) bool { return d.Maker == s.Maker() }) {
			continue
		}
		r, err := s.Report(ctx)
		m.Tried = append(m.Tried, Attempt{s.Name(), err})
		if err != nil || len(r.Devices) == 0 {
			continue
		}
		m.Drivers = append(m.Drivers, Driver{s.Maker(), r.Driver, r.Runtime, s.Name()})
		m.Devices = append(m.Devices, r.Devices...)
	}
	m.count()
	return m
}

// count numbers the devices as PyTorch would if none were hidden.
func (m *Machine) count() {
	next := map[Maker]int{}
	for i := range m.Devices {
		d := &m.Devices[i]
		d.Ordinal = Hidden
		for j := range d.Slices {
			d.Slices[j].Ordinal = Hidden
		}
		if !d.MIG {
			d.Ordinal = next[d.Maker]
			next[d.Maker]++
		}
	}
	if next[NVIDIA] > 0 {
		return
	}
	// If all devices are divided into slices, CUDA shows only the first slice.
	for i := range m.Devices {
		if s := m.Devices[i].Slices; len(s) > 0 {
			s[0].Ordinal = 0
			return
		}
	}
}

// Visible returns the cards that PyTorch would see, in its order, with the free memory on each. If the user names no
// card, cli/optimize_today.go takes the first one.
func (m *Machine) Visible() []Place {
	var out []Place
	for _, d := range m.Devices {
		if d.Ordinal != Hidden {
			out = append(out, Place{d.Card(), d.Free, d.Ordinal})
		}
		for _, s := range d.Slices {
			if s.Ordinal != Hidden {
				out = append(out, Place{s.Card(d), s.Free, s.Ordinal})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Place) int { return a.Ordinal - b.Ordinal })
	return out
}

// Place is a GPU or a slice of one on which a process can train.
type Place struct {
	Card
	Free    uint64 // free bytes
	Ordinal int    // the N of PyTorch's cuda:N
}
