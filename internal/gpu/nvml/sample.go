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
		err := failure(l, "starting", c) // uses the library's message, so before it is unloaded
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
	handle     handle
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
		x := card{handle: h}
		x.name, _ = l.DeviceName(h)
		x.uuid, _ = l.UUID(h)
		if mw, c := l.PowerLimit(h); c == success {
			x.powerLimit = number(float64(mw) / 1000)
		}
		a.cards = append(a.cards, x)
	}
	return nil
}

// Sample samples every GPU. A GPU that does not respond has its own error; if none responds, the driver is gone.
func (a *sampler) Sample(context.Context) ([]gpu.Sample, error) {
	out := make([]gpu.Sample, 0, len(a.cards))
	var gone error
	answers := false
	for i := range a.cards {
		s := a.sample(i)
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

func (a *sampler) sample(index int) gpu.Sample {
	l, x := a.library, a.cards[index]
	s := gpu.Sample{Maker: gpu.NVIDIA, Index: index, Name: x.name, UUID: x.uuid, PowerLimit: x.powerLimit}
	m, c := l.Memory(x.handle)
	if c != success {
		s.Err = failure(l, "its memory", c)
		if c == gpuLost {
			s.Err = fmt.Errorf("it fell off the bus: %w", s.Err)
		}
		return s
	}
	s.Total, s.Reserved, s.Used = m.total, m.reserved, m.used
	if n, c := l.Utilization(x.handle); c == success {
		s.Util = number(float64(n))
	}
	if mw, c := l.Power(x.handle); c == success {
		s.Power = number(float64(mw) / 1000)
	}
	if n, c := l.Temperature(x.handle); c == success {
		s.Temperature = number(float64(n))
	}
	if bits, c := l.Slowdown(x.handle); c == success {
		s.Throttle = gpu.SlowdownReasons(bits)
	}
	s.Processes = a.processes(x.handle)
	return s
}

// mostNames limits the cache of process names; it is emptied when full.
const mostNames = 1024

// processes lists a GPU's processes. Each process's name is queried once.
func (a *sampler) processes(h handle) []gpu.Process {
	list, c := a.library.Processes(h)
	if c != success {
		return nil
	}
	if len(a.names) > mostNames {
		clear(a.names)
	}
	var out []gpu.Process
	for _, p := range list {
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
