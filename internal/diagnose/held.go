// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"slices"

	"snug/internal/snapshot"
	"snug/internal/stream"
)

// Held is memory that was alive at the end of a recording, grouped by the code that allocated it.
type Held struct {
	What   string // parameters, activations, …
	Where  Frame  // the user's line; zero if no stack was recorded
	Bytes  uint64 // total size
	Count  int    // tensors
	grown  uint64 // bytes allocated during the recording
	visits int    // how often the line ran and left something alive
	recent bool   // whether the last visits left something alive
}

// growing reports whether the line leaves memory alive each time it runs.
func (h *Held) growing() bool { return h.visits >= leastVisits && h.recent }

// leastVisits is the number of visits to a line that must leave something alive before it counts as growth. A data
// loader, or a loss kept for the next step, keeps tensors of up to three visits alive.
const leastVisits = 4

// Recorded is what a snapshot shows about the memory at the failed request or, if none failed, at the peak.
type Recorded struct {
	Held      []Held        // largest first
	AtPeak    bool          // whether Held is from the peak, not from the end
	Frames    []Frame       // the stack of the failed request, outermost first
	OOM       *snapshot.OOM // the last failed request, or nil
	Allocated uint64        // bytes in tensors at the end
	Reserved  uint64        // bytes obtained from the driver
	Private   uint64        // unused bytes in CUDA graph pools
	Steps     int           // recorded optimizer updates
	Longest   float64       // size of the last step's tensors relative to all earlier steps; 0 if unknown

	rec    *snapshot.Recording
	device *snapshot.Device
	walked *collector
}

// stacks contains what is known about each stack in a recording.
type stacks struct {
	rec   *snapshot.Recording
	known []stackFacts
}

type stackFacts struct {
	frames []Frame // outermost first
	kind   string
	site   int // index into sites; -1 if the stack has no user code
	done   bool
}

// collector processes a recording.
type collector struct {
	stacks
	sites  []Frame
	number map[Frame]int
	visits []int32            // by site
	now    int                // the site of the last allocation
	alive  []mark             // by allocation
	sizes  map[uint32]*extent // by stack
}

// mark is an allocation: where and on which visit it was allocated.
type mark struct {
	size  uint64
	visit int32
	stack uint32
	alive bool
}

// extent is the size of the largest allocation with a stack: on the last visit, and on all earlier ones.
type extent struct {
	visit        int32
	last, before uint64
}

// ReadRecording returns what a recording shows about one device.
func ReadRecording(rec *snapshot.Recording, d *snapshot.Device) *Recorded {
	c := &collector{stacks: stacks{rec, make([]stackFacts, len(rec.Stacks))}, number: map[Frame]int{}, now: -1, sizes: map[uint32]*extent{}}
	for i, e := range d.Trace.Events {
		switch e.Kind {
		case stream.Alloc:
			c.alloc(e, stackOf(d, i))
		case stream.Free, stream.FreeRequested:
			if int(e.ID) < len(c.alive) {
				c.alive[e.ID].alive = false
			}
		}
	}
	out := &Recorded{Steps: c.updates(), Longest: c.longest(), rec: rec, device: d, walked: c}
	out.Held = c.held(d)
	for _, s := range d.Final {
		out.add(s)
	}
	if n := len(d.OOMs); n > 0 {
		out.OOM = &d.OOMs[n-1]
		out.Frames = c.facts(out.OOM.Stack).frames
	} else if at, bytes := c.peak(d); bytes > out.Allocated+out.Allocated/50 {
		out.Held, out.AtPeak = c.heldAt(d, at), true
	}
	return out
}

func (r *Recorded) add(s snapshot.Segment) {
	r.Reserved += s.Size
	for _, b := range s.Blocks {
		switch {
		case b.State != snapshot.Inactive:
			r.Allocated += b.Size
		case s.Pool != [2]int64{}:
			r.Private += b.Size
		}
	}
}

func stackOf(d *snapshot.Device, event int) uint32 {
	if d.Stacks == nil {
		return 0
	}
	return d.Stacks[event]
}

// facts returns what is known about a stack.
func (c *collector) facts(id uint32) *stackFacts {
	f := &c.known[id]
	if f.done {
		return f
	}
	f.done, f.site = true, -1
	for _, i := range c.rec.Stacks[id] {
		if s := c.rec.Frames[i]; s.File != "??" {
			f.frames = append(f.frames, Frame{File: s.File, Line: s.Line, Func: s.Name})
		}
	}
	slices.Reverse(f.frames)
	f.kind = kindOf(f.frames)
	if len(c.rec.Stacks) <= 1 { // recorded without stacks
		f.kind = Unknown
	}
	if at, ok := site(f.frames); ok {
		n, known := c.number[at]
		if !known {
			n = len(c.sites)
			c.number[at], c.sites, c.visits = n, append(c.sites, at), append(c.visits, 0)
		}
		f.site = n
	}
	return f
}

// alloc processes an allocation. A new visit to a site begins when the program returns to it from another site.
func (c *collector) alloc(e stream.Event, stack uint32) {
	f := c.facts(stack)
	if f.site != c.now {
		if f.site >= 0 {
			c.visits[f.site]++
		}
		c.now = f.site
	}
	m := mark{size: e.Size, stack: stack, alive: true}
	if f.site >= 0 {
		m.visit = c.visits[f.site]
		c.extend(stack, m)
	}
	for int(e.ID) >= len(c.alive) {
		c.alive = append(c.alive, mark{})
	}
	c.alive[e.ID] = m
}

// updates returns the number of steps: how often the line that runs the optimizer was reached.
func (c *collector) updates() (n int) {
	for i, f := range c.known {
		if f.done && (f.kind == Optimizer || f.kind == Temporaries) && f.site >= 0 && len(c.rec.Stacks[i]) > 0 {
			n = max(n, int(c.visits[f.site]))
		}
	}
	return n
}

// extend records the size of an allocation.
func (c *collector) extend(stack uint32, m mark) {
	x := c.sizes[stack]
	if x == nil {
		x = &extent{visit: m.visit}
		c.sizes[stack] = x
	}
	if x.visit != m.visit {
		x.before, x.last, x.visit = max(x.before, x.last), 0, m.visit
	}
	x.last = max(x.last, m.size)
}

// longest compares the activations of the last visits with those of all earlier ones.
func (c *collector) longest() float64 {
	var last, before uint64
	for id, x := range c.sizes {
		f := c.facts(id)
		if f.kind != Activations && f.kind != Logits || f.site != c.now || x.before == 0 || x.visit != c.visits[f.site] {
			continue
		}
		last, before = max(last, x.last), max(before, x.before)
	}
	if before == 0 {
		return 0
	}
	return float64(last) / float64(before)
}

// group is the memory of one kind of tensor from one site.
type group struct {
	kind string
	site int
}

// held returns the memory that is alive at the end.
func (c *collector) held(d *snapshot.Device) (out []Held) {
	all, seen := map[group]*Held{}, map[group]map[int32]bool{}
	add := func(stack uint32, size uint64, visit int32) {
		f := c.facts(stack)
		g := group{f.kind, f.site}
		if g.kind == Temporaries && (f.site != c.now || visit < c.visits[f.site]) {
			g.kind = Optimizer // memory that outlives its update is state, like SGD's momentum
		}
		h := all[g]
		if h == nil {
			h, seen[g] = &Held{What: g.kind}, map[int32]bool{}
			if f.site >= 0 {
				h.Where = c.sites[f.site]
			}
			all[g] = h
		}
		h.Bytes += size
		h.Count++
		if visit > 0 {
			seen[g][visit] = true
			h.grown += size
			h.recent = h.recent || visit >= c.visits[f.site]-1
		}
	}
	for _, m := range c.alive {
		if m.alive {
			add(m.stack, m.size, m.visit)
		}
	}
	c.older(d, add)
	for g, h := range all {
		h.visits = len(seen[g])
		out = append(out, *h)
	}
	sortHeld(out)
	return out
}

// older adds the tensors that were allocated before the recording or have lost their entries to newer ones.
func (c *collector) older(d *snapshot.Device, add func(stack uint32, size uint64, visit int32)) {
	recorded := map[uint64]bool{}
	for id, m := range c.alive {
		if m.alive && id < len(d.Addresses) {
			recorded[d.Addresses[id]] = true
		}
	}
	for _, s := range d.Final {
		for _, b := range s.Blocks {
			if b.State == snapshot.Allocated && !recorded[b.Addr] {
				add(b.Stack, b.Requested, 0)
			}
		}
	}
}
