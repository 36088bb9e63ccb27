// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"strconv"
	"strings"
)

// Variables that hide GPUs from a process. HIP reads CUDA's as well as its own.
const (
	cudaVisible = "CUDA_VISIBLE_DEVICES"
	cudaOrder   = "CUDA_DEVICE_ORDER"
	hipVisible  = "HIP_VISIBLE_DEVICES"
	rocrVisible = "ROCR_VISIBLE_DEVICES"
)

// Limit marks the devices that the environment hides, and numbers the other devices as PyTorch does. lookup is
// os.LookupEnv: a variable that is set but empty hides everything.
func (m *Machine) Limit(lookup func(string) (string, bool)) {
	if value, set := lookup(cudaVisible); set {
		m.keep(NVIDIA, cudaVisible, value)
	}
	for _, name := range []string{rocrVisible, hipVisible, cudaVisible} {
		if value, set := lookup(name); set {
			m.keep(AMD, name, value)
			break
		}
	}
	if order, _ := lookup(cudaOrder); order != "PCI_BUS_ID" && m.differ(NVIDIA) {
		m.Notes = append(m.Notes, "if cards differ, CUDA numbers the fastest first; export CUDA_DEVICE_ORDER=PCI_BUS_ID to number them as here")
	}
}

// differ reports whether a manufacturer's cards are of different models.
func (m *Machine) differ(maker Maker) bool {
	name := ""
	for _, d := range m.Devices {
		if d.Maker != maker {
			continue
		}
		if name != "" && d.Name != name {
			return true
		}
		name = d.Name
	}
	return false
}

// keep hides all devices except those in the variable's list, and numbers these in the list's order. The rules are
// the driver's, as implemented in PyTorch (torch/cuda/__init__.py, _parse_visible_devices): the list ends at the
// first entry that matches nothing, and listing a device twice hides everything.
func (m *Machine) keep(maker Maker, variable, value string) {
	var all []*int
	for i := range m.Devices {
		if d := &m.Devices[i]; d.Maker == maker {
			all = append(all, &d.Ordinal)
			for j := range d.Slices {
				all = append(all, &d.Slices[j].Ordinal)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	for _, ordinal := range all {
		*ordinal = Hidden
	}
	next := 0
	for entry := range strings.SplitSeq(value, ",") {
		ordinal := m.named(maker, strings.TrimSpace(entry))
		if ordinal == nil {
			m.endsAt(variable, entry, value)
			break
		}
		if *ordinal != Hidden {
			for _, o := range all {
				*o = Hidden
			}
			m.Notes = append(m.Notes, fmt.Sprintf("%s=%s names a GPU twice, which hides them all", variable, value))
			return
		}
		*ordinal = next
		next++
	}
}

// endsAt adds a note about an entry that matches nothing, except for -1 and an empty list, which are common ways to
// hide everything.
func (m *Machine) endsAt(variable, entry, value string) {
	if e := strings.TrimSpace(entry); e != "" && e != "-1" {
		m.Notes = append(m.Notes, fmt.Sprintf("%s=%s: %q is not a GPU in this machine, so it and all later entries are ignored", variable, value, e))
	}
}

// named returns the ordinal of the device that an entry names: an index, the beginning of a UUID that only one GPU
// has, or a slice.
func (m *Machine) named(maker Maker, entry string) *int {
	if strings.HasPrefix(entry, "MIG-") {
		return m.slice(entry)
	}
	if strings.HasPrefix(entry, "GPU-") {
		return m.unique(maker, entry)
	}
	index, ok := leadingNumber(entry)
	if !ok {
		return nil
	}
	for i := range m.Devices {
		d := &m.Devices[i]
		if d.Maker != maker {
			continue
		}
		if index == 0 {
			return d.whole()
		}
		index--
	}
	return nil
}

// whole returns a device's ordinal: its own, or its first slice's.
func (d *Device) whole() *int {
	switch {
	case !d.MIG:
		return &d.Ordinal
	case len(d.Slices) > 0:
		return &d.Slices[0].Ordinal
	}
	return nil
}

// leadingNumber returns the number that s begins with, as strtoul does: "1foo" is 1. It returns false if
// there is none.
func leadingNumber(s string) (int, bool) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	return n, err == nil
}

// unique returns the ordinal of the only device whose UUID has the prefix, or nil.
func (m *Machine) unique(maker Maker, prefix string) *int {
	var found *Device
	for i := range m.Devices {
		if d := &m.Devices[i]; d.Maker == maker && strings.HasPrefix(d.UUID, prefix) {
			if found != nil {
				return nil
			}
			found = d
		}
	}
	if found == nil {
		return nil
	}
	return found.whole()
}

// slice returns the ordinal of the slice named MIG-UUID or, in older drivers, MIG-GPU-UUID/gi/ci; nil if there is
// none.
func (m *Machine) slice(entry string) *int {
	for i := range m.Devices {
		d := &m.Devices[i]
		for j := range d.Slices {
			s := &d.Slices[j]
			older := fmt.Sprintf("MIG-%s/%d/%d", d.UUID, s.GPUInstance, s.ComputeInstance)
			if entry == older || s.UUID != "" && strings.HasPrefix(s.UUID, entry) {
				return &s.Ordinal
			}
		}
	}
	return nil
}
