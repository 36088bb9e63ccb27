// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"
	"sync"

	"snug/internal/gpu"
)

// Open loads the library and keeps it loaded, so that a sample costs microseconds.
func (s Source) Open(context.Context) (gpu.Sampler, error) {
	l, unload, err := open(s.Paths)
	if err != nil {
		return nil, err
	}
	if c := l.Init(); c != success {
		err := failure(l, "starting", c) // must precede Close, because the message comes from the library
		unload()
		return nil, err
	}
	a := &sampler{library: l, names: map[int]string{}}
	a.close = sync.OnceFunc(func() {
		l.Shutdown()
		unload()
	})
	if err := a.find(); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// sampler queries the open library.
type sampler struct {
	library library
	cards   []card
	names   map[int]string // of processes, by PID
	close   func()
}

// card contains a GPU's constant properties.
type card struct {
	index      int
	slice      *int // nil for the whole GPU
	instance   int  // the driver's number for the MIG instance, used to match processes
	handle     handle
	parent     handle // of the whole GPU
	name, uuid string
	powerLimit *float64
}

// find lists the GPUs.
func (a *sampler) find() error {
	l := a.library
	count, c := l.Count()
	if c != success {
		return failure(l, "counting GPUs", c)
	}
	for i := range count {
		h, c := l.Handle(i)
		if c != success {
			return fmt.Errorf("GPU %d: %w", i, failure(l, "finding it", c))
		}
		x := card{index: i, handle: h, parent: h}
		x.name, _ = l.DeviceName(h)
		x.uuid, _ = l.UUID(h)
		if slices := a.slices(x); len(slices) > 0 {
			a.cards = append(a.cards, slices...)
			continue
		}
		if mw, c := l.PowerLimit(h); c == success {
			x.powerLimit = number(float64(mw) / 1000)
		}
		a.cards = append(a.cards, x)
	}
	return nil
}

// slices returns the MIG instances of a GPU, or none if MIG is off. With MIG, processes run only on instances.
func (a *sampler) slices(of card) []card {
	l := a.library
	if on, c := l.MIG(of.handle); c != success || !on {
		return nil
	}
	m, _ := l.Memory(of.handle)
	var out []card
	for _, s := range cut(l, of.handle, m.total) {
		h, c := l.Slice(of.handle, s.Index)
		if c != success {
			continue
		}
		out = append(out, card{index: of.index, slice: &s.Index, instance: s.GPUInstance, handle: h, parent: of.handle, uuid: s.UUID, name: gpu.SliceName(of.name, s.Profile)})
	}
	return out
}

// Sample samples every GPU. A GPU that does not respond has its own error; if none responds, the driver is gone.
func (a *sampler) Sample(context.Context) ([]gpu.Sample, error) {
	out := make([]gpu.Sample, 0, len(a.cards))
	var gone error
	answers := false
	for _, x := range a.cards {
		s := a.sample(x)
		if s.Err != nil {
			gone = s.Err
		}
		answers = answers || s.Err == nil
		out = append(out, s)
	}
	if !answers && gone != nil {
		return nil, fmt.Errorf("%w: %w", gpu.ErrLost, gone)
	}
	return out, nil
}

// sample queries one GPU or MIG instance. The driver reports load and power only for whole GPUs, so an instance has
// neither.
func (a *sampler) sample(x card) gpu.Sample {
	l := a.library
	s := gpu.Sample{Maker: gpu.NVIDIA, Index: x.index, Slice: x.slice, Name: x.name, UUID: x.uuid, PowerLimit: x.powerLimit}
	m, c := l.Memory(x.handle)
	if c != success {
		s.Err = failure(l, "its memory", c)
		if c == gpuLost {
			s.Err = fmt.Errorf("it fell off the bus: %w", s.Err)
		}
		return s
	}
	s.Total, s.Reserved, s.Used = m.total, m.reserved, m.used
	if n, c := l.Temperature(x.parent); c == success {
		s.Temperature = number(float64(n))
	}
	if bits, c := l.Slowdown(x.parent); c == success {
		s.Throttle = gpu.SlowdownReasons(bits)
	}
	s.Processes = a.processes(x)
	if x.slice != nil {
		return s
	}
	if n, c := l.Utilization(x.handle); c == success {
		s.Util = number(float64(n))
	}
	if mw, c := l.Power(x.handle); c == success {
		s.Power = number(float64(mw) / 1000)
	}
	return s
}

// mostNames limits the cache of process names; it is emptied when full.
const mostNames = 1024

// processes lists the processes of a GPU or of a MIG instance. The name of each process is queried only once.
func (a *sampler) processes(x card) []gpu.Process {
	list, c := a.library.Processes(x.parent)
	if c != success {
		return nil
	}
	if len(a.names) > mostNames {
		clear(a.names)
	}
	var out []gpu.Process
	for _, p := range list {
		if x.slice != nil && p.gpuInstance != x.instance {
			continue
		}
		name, known := a.names[p.pid]
		if !known {
			name, _ = a.library.ProcessName(p.pid)
			a.names[p.pid] = name
		}
		out = append(out, gpu.Process{PID: p.pid, Name: name, Used: p.used})
	}
	return out
}

// Close unloads the library.
func (a *sampler) Close() { a.close() }

func number(x float64) *float64 { return &x }
