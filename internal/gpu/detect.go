// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"slices"
)

// Source is a way to list the GPUs of this machine: a library, a program, files of the kernel.
type Source interface {
	// Name returns the program or library that is asked.
	Name() string
	// Maker returns the maker of the GPUs that it lists.
	Maker() Maker
	// Report lists the GPUs.
	Report(context.Context) (*Report, error)
}

// Report is a source's answer.
type Report struct {
	Driver  string   // version
	Runtime string   // the newest CUDA, or the ROCm, that the driver serves
	Devices []Device // in the source's order
}

// Machine holds the GPUs of this machine, and the sources that reported them.
type Machine struct {
	Devices []Device  // all GPUs
	Drivers []Driver  // one for each maker with GPUs
	Tried   []Attempt // every source that was asked
	Notes   []string  // what the user should know about how GPUs are counted
}

// Driver is the driver of one maker's cards.
type Driver struct {
	Maker   Maker  `json:"maker"`             // manufacturer of the GPUs
	Version string `json:"version,omitempty"` // of the driver
	Runtime string `json:"runtime,omitempty"` // the newest CUDA or ROCm release that it supports
	Source  string `json:"source"`            // the name of the Source that reported it
}

// Attempt is a source that was tried; Err is nil if it succeeded.
type Attempt struct {
	Source string // the name of the Source
	Err    error  // nil if it answered
}

// Detect tries the sources in order. Once one has listed a maker's GPUs, that maker's other sources are
// not tried. A source that fails is an Attempt with its error, never a failure of Detect.
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

// count numbers the devices as PyTorch would if nothing were hidden.
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
	// If there are only slices, CUDA shows the first one alone.
	for i := range m.Devices {
		if s := m.Devices[i].Slices; len(s) > 0 {
			s[0].Ordinal = 0
			return
		}
	}
}

// Visible returns the cards that PyTorch would see, in its order, with the memory
// that is free on each. If the user names no card, the first one is taken: here in cli/optimize_today.go.
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
