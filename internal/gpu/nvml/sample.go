// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

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
	use        *use  // what its processes use of it
	missing    error // why the driver cannot find it; nil if it has
}

// find lists the GPUs. One that has fallen off the bus does not prevent the others from being sampled.
func (a *sampler) find() error {
	count, c := a.library.Count()
	if c != success {
		return failure(a.library, "counting GPUs", c)
	}
	for i := range count {
		a.cards = append(a.cards, a.card(i)...)
	}
	if len(a.cards) == 0 || slices.ContainsFunc(a.cards, func(x card) bool { return x.missing == nil }) {
		return nil
	}
	return fmt.Errorf("GPU %d: %w", a.cards[0].index, a.cards[0].missing)
}

// findAgain looks for the GPUs that are missing.
func (a *sampler) findAgain() {
	var all []card
	for _, x := range a.cards {
		if x.missing != nil {
			all = append(all, a.card(x.index)...)
		} else {
			all = append(all, x)
		}
	}
	a.cards = all
}

// card returns a GPU, or its MIG instances.
func (a *sampler) card(index int) []card {
	l := a.library
	h, c := l.Handle(index)
	if c != success {
		return []card{{index: index, missing: lostOr(c, failure(l, "finding it", c))}}
	}
	x := card{index: index, handle: h, parent: h, use: &use{newest: map[int]used{}}}
	x.name, _ = l.DeviceName(h)
	x.uuid, _ = l.UUID(h)
	if parts := a.slices(x); len(parts) > 0 {
		return parts
	}
	if mw, c := l.PowerLimit(h); c == success {
		x.powerLimit = number(float64(mw) / 1000)
	}
	return []card{x}
}

// lostOr returns an error that says so if a GPU is lost.
func lostOr(c code, err error) error {
	if c == gpuLost {
		return fmt.Errorf("it fell off the bus: %w", err)
	}
	return err
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
	if slices.ContainsFunc(a.cards, func(x card) bool { return x.missing != nil }) {
		a.findAgain()
	}
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
	if x.missing != nil {
		return gpu.Sample{Maker: gpu.NVIDIA, Index: x.index, Err: x.missing}
	}
	s := gpu.Sample{Maker: gpu.NVIDIA, Index: x.index, Slice: x.slice, Name: x.name, UUID: x.uuid, PowerLimit: x.powerLimit}
	m, c := l.Memory(x.handle)
	if c != success {
		s.Err = lostOr(c, failure(l, "its memory", c))
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
	if x.use != nil && len(out) > 0 {
		x.use.ask(a.library, x.handle, time.Now())
		for i := range out {
			out[i].Util = x.use.of(out[i].PID)
		}
	}
	return out
}

// use is what processes use of a GPU. The driver measures it a few times a second, and asking costs as much as everything else
// in a sample, so it is asked once a second, and a value is kept until it is too old.
type use struct {
	asked  time.Time
	after  uint64 // the newest measurement, in the driver's time
	newest map[int]used
}

type used struct {
	percent float64
	asked   time.Time
}

const (
	askEvery = time.Second
	recently = 2 * time.Second // how long a value counts: the driver does not list processes that do nothing
)

// ask asks the driver for new values, unless it did so a moment ago.
func (u *use) ask(l library, h handle, now time.Time) {
	if since := now.Sub(u.asked); since >= 0 && since < askEvery {
		return
	}
	u.asked = now
	list, c := l.ProcessUse(h, u.after)
	for _, p := range list {
		if c == success {
			u.newest[p.pid] = used{float64(p.percent), now}
			u.after = max(u.after, p.stamp)
		}
	}
	maps.DeleteFunc(u.newest, func(_ int, x used) bool { return now.Sub(x.asked) > recently })
}

// of returns the value of a process, or nil.
func (u *use) of(pid int) *float64 {
	if x, ok := u.newest[pid]; ok {
		return number(x.percent)
	}
	return nil
}

// Close unloads the library.
func (a *sampler) Close() { a.close() }

func number(x float64) *float64 { return &x }
