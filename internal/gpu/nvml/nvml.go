// SPDX-License-Identifier: Apache-2.0

// Package nvml lists this machine's GPUs through NVIDIA's management library. The library comes with the driver and
// is loaded on first use, without cgo. If it is missing or fails to initialize, the caller gets an ordinary error,
// and no other library function is called.
//
// A binary built with the tag "static" has no loader, and so needs no dynamic linker; it uses nvidia-smi instead.
package nvml

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"snug/internal/gpu"
	"snug/internal/units"
)

// Source is the NVML library.
type Source struct {
	// Paths are the places to search for the library; nil means where drivers install it.
	Paths []string
}

// Name returns the source's name for messages.
func (Source) Name() string { return "NVML" }

// Maker returns the manufacturer of the listed GPUs.
func (Source) Maker() gpu.Maker { return gpu.NVIDIA }

// handle is the library's pointer to a device.
type handle uintptr

// code is the result of a library function.
type code int32

// Codes that are handled here.
const (
	success  code = 0
	tooSmall code = 7
	notFound code = 13 // the library is too old to have the function

	gpuLost code = 15 // the GPU fell off the bus
)

// library is the part of NVML that is used. Functions that an old library lacks return notFound.
type library interface {
	Init() code
	Shutdown() code
	ErrorString(code) string
	DriverVersion() (string, code)
	CUDAVersion() (int, code)
	Count() (int, code)
	Handle(index int) (handle, code)
	DeviceName(handle) (string, code)
	UUID(handle) (string, code)
	Bus(handle) (string, code)
	Memory(handle) (memory, code)
	Capability(handle) (major, minor int, _ code)
	ECC(handle) (bool, code)
	MIG(handle) (bool, code)
	Slices(handle) (int, code)
	Slice(h handle, index int) (handle, code)
	Instance(slice handle) (gpuInstance, computeInstance int, _ code)
	Attributes(slice handle) (attributes, code)
	Processes(handle) ([]process, code)
	ProcessName(pid int) (string, code)
	Utilization(handle) (percent int, _ code)
	ProcessUse(h handle, after uint64) ([]processUse, code)
	Power(handle) (milliwatts int, _ code)
	PowerLimit(handle) (milliwatts int, _ code)
	Temperature(handle) (celsius int, _ code)
	Slowdown(handle) (bits uint64, _ code)
}

// memory is in bytes; reserved is the driver's own share.
type memory struct{ total, reserved, free, used uint64 }

// attributes are a slice's attributes.
type attributes struct {
	multiprocessors, gpuSlices, computeSlices int
	memoryMB                                  uint64
}

// processUse is how much of the GPU a process used recently.
type processUse struct {
	pid     int
	percent int
	stamp   uint64 // when that was measured, in the driver's time
}

type process struct {
	pid         int
	used        uint64
	gpuInstance int
}

// failure returns the error for a library function that did not succeed.
func failure(l library, doing string, c code) error {
	return fmt.Errorf("%s: %s", doing, l.ErrorString(c))
}

// Report loads the library, queries everything and unloads it again.
func (s Source) Report(context.Context) (*gpu.Report, error) {
	l, unload, err := open(s.Paths)
	if err != nil {
		return nil, err
	}
	defer unload()
	return report(l)
}

func report(l library) (*gpu.Report, error) {
	if c := l.Init(); c != success {
		return nil, failure(l, "starting", c)
	}
	defer l.Shutdown()
	count, c := l.Count()
	if c != success {
		return nil, failure(l, "counting GPUs", c)
	}
	r := &gpu.Report{}
	r.Driver, _ = l.DriverVersion()
	if v, c := l.CUDAVersion(); c == success {
		r.Runtime = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	for i := range count {
		d, err := device(l, i)
		if err != nil {
			return nil, fmt.Errorf("GPU %d: %w", i, err)
		}
		r.Devices = append(r.Devices, d)
	}
	return r, nil
}

func device(l library, index int) (gpu.Device, error) {
	d := gpu.Device{Maker: gpu.NVIDIA, Index: index}
	h, c := l.Handle(index)
	if c != success {
		return d, failure(l, "finding it", c)
	}
	if d.Name, c = l.DeviceName(h); c != success {
		return d, failure(l, "its name", c)
	}
	m, c := l.Memory(h)
	if c != success {
		return d, failure(l, "its memory", c)
	}
	d.Total, d.Reserved, d.Used, d.Free = m.total-min(m.reserved, m.total), m.reserved, m.used, m.free
	d.UUID, _ = l.UUID(h)
	d.Bus, _ = l.Bus(h)
	if major, minor, c := l.Capability(h); c == success {
		d.Capability = 10*major + minor
		d.Arch = "sm_" + strconv.Itoa(d.Capability)
	}
	if on, c := l.ECC(h); c == success {
		d.ECC = map[bool]string{true: "on", false: "off"}[on]
	}
	if on, c := l.MIG(h); c == success && on {
		d.MIG = true
		d.Slices = cut(l, h, m.total)
	}
	claim(l, h, &d)
	return d, nil
}

// cut returns a device's slices. The library's count includes empty slots.
func cut(l library, h handle, total uint64) []gpu.Slice {
	places, _ := l.Slices(h)
	var out []gpu.Slice
	for i := range places {
		slice, c := l.Slice(h, i)
		if c != success {
			continue
		}
		s := gpu.Slice{Index: i}
		s.UUID, _ = l.UUID(slice)
		s.GPUInstance, s.ComputeInstance, _ = l.Instance(slice)
		if m, c := l.Memory(slice); c == success {
			s.Total, s.Used, s.Free = m.total-min(m.reserved, m.total), m.used, m.free
		}
		if a, c := l.Attributes(slice); c == success {
			s.SMs, s.Profile = a.multiprocessors, profile(a, total)
		}
		out = append(out, s)
	}
	return out
}

// profile returns a slice's profile name as in nvidia-smi: 1g.10gb, or 1c.3g.40gb if the compute instance is only
// part of the GPU instance. The size in the name is the device's memory times the slice's fraction of it, rounded up
// to eighths.
func profile(a attributes, total uint64) string {
	gib := math.Ceil(float64(total) / units.GiB)
	eighths := math.Ceil(8 * float64(a.memoryMB) * units.MiB / float64(max(total, 1)))
	name := fmt.Sprintf("%dg.%.0fgb", a.gpuSlices, gib*eighths/8)
	if a.computeSlices > 0 && a.computeSlices != a.gpuSlices {
		name = fmt.Sprintf("%dc.%s", a.computeSlices, name)
	}
	return name
}

// claim adds the processes that use a device to the device, or to its slices if it has any.
func claim(l library, h handle, d *gpu.Device) {
	list, c := l.Processes(h)
	if c != success {
		return
	}
	for _, p := range list {
		name, _ := l.ProcessName(p.pid)
		to := &d.Processes
		for i := range d.Slices {
			if d.Slices[i].GPUInstance == p.gpuInstance {
				to = &d.Slices[i].Processes
			}
		}
		*to = append(*to, gpu.Process{PID: p.pid, Name: name, Used: p.used})
	}
}
