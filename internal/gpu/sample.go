// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Sample is the state of a GPU at one moment. A nil pointer means that the source does not report the value.
type Sample struct {
	Maker       Maker     // manufacturer
	Index       int       // index in nvidia-smi or amd-smi
	Slice       *int      // the number of a MIG instance within the GPU; nil for the whole GPU
	UUID        string    // the GPU's unique name
	Name        string    // as the driver prints it
	Total       uint64    // bytes, including the driver's share
	Reserved    uint64    // bytes reserved by the driver, if it reports them
	Used        uint64    // bytes in use by all processes
	Util        *float64  // percent of recent time that a kernel was running
	Power       *float64  // watts
	PowerLimit  *float64  // watts
	Temperature *float64  // degrees Celsius
	Throttle    []string  // why the clocks are reduced, as text
	Processes   []Process // processes with memory on the GPU
	Err         error     // set if this GPU does not respond, for example because it fell off the bus
}

// Label returns the name of the device for people.
func (s Sample) Label() string {
	if s.Slice == nil {
		return fmt.Sprintf("GPU %d", s.Index)
	}
	return fmt.Sprintf("GPU %d MIG %d", s.Index, *s.Slice)
}

// Sampler is an open source that can be queried many times a second.
type Sampler interface {
	// Sample returns the state of all GPUs.
	Sample(context.Context) ([]Sample, error)
	// Close releases the source.
	Close()
}

// SampledSource is a source whose GPUs can be sampled.
type SampledSource interface {
	Source
	// Open prepares for sampling.
	Open(context.Context) (Sampler, error)
}

// ErrLost is wrapped by a sampler's error if the driver is gone and the sampler must be reopened.
var ErrLost = errors.New("the driver does not respond")

// Repeated samples a source by requesting a full report each time. Its samples have only memory and processes.
type Repeated struct{ Source }

// Open returns the sampler if the source responds.
func (r Repeated) Open(ctx context.Context) (Sampler, error) {
	_, err := r.Report(ctx)
	return repeatedSampler{r.Source}, err
}

type repeatedSampler struct{ source Source }

func (s repeatedSampler) Sample(ctx context.Context) ([]Sample, error) {
	r, err := s.source.Report(ctx)
	if err != nil {
		return nil, err
	}
	var out []Sample
	for _, d := range r.Devices {
		for _, x := range d.Slices {
			out = append(out, Sample{
				Maker: d.Maker, Index: d.Index, Slice: &x.Index, UUID: x.UUID, Name: SliceName(d.Name, x.Profile),
				Total: x.Total, Used: x.Used, Processes: x.Processes,
			})
		}
		if len(d.Slices) > 0 {
			continue // processes run only on slices
		}
		out = append(out, Sample{
			Maker: d.Maker, Index: d.Index, UUID: d.UUID, Name: d.Name,
			Total: d.Total + d.Reserved, Reserved: d.Reserved, Used: d.Used, Processes: d.Processes,
		})
	}
	return out, nil
}

// SliceName returns the name of a MIG instance: the GPU's name and the instance's profile.
func SliceName(device, profile string) string { return strings.TrimSpace(device + " MIG " + profile) }

func (repeatedSampler) Close() {}

// SlowdownReasons describes NVIDIA's reasons for reduced clocks. It omits an idle GPU and clocks set by the user.
func SlowdownReasons(bits uint64) []string {
	var out []string
	for _, r := range slowdowns {
		if bits&r.bit != 0 {
			out = append(out, r.words)
		}
	}
	return out
}

// slowdowns are the bits of nvmlDeviceGetCurrentClocksEventReasons (nvml.h, nvmlClocksEventReason*).
var slowdowns = []struct {
	bit   uint64
	words string
}{
	{0x04, "power cap"},
	{0x08, "hardware slowdown"},
	{0x20, "heat (software)"},
	{0x40, "heat (hardware)"},
	{0x80, "power brake"},
}
