// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"slices"

	"snug/internal/snapshot"
	"snug/internal/stream"
)

// earlier is the stack of allocations that were made before the recording and freed during it, about which nothing is
// known. It is not an index into the recording's stacks.
const earlier = ^uint32(0)

// initial returns the allocations that were alive at the start, by ID. A snapshot has stacks only for those that
// lived to its end.
func (c *collector) initial(d *snapshot.Device) []mark {
	stacks := map[uint64]uint32{}
	for _, s := range d.Final {
		for _, b := range s.Blocks {
			if b.State == snapshot.Allocated {
				stacks[b.Addr] = b.Stack
			}
		}
	}
	out := make([]mark, 0, d.Trace.Initial)
	for _, s := range d.Start {
		for _, b := range s.Blocks {
			if b.State == snapshot.Inactive {
				continue
			}
			stack, known := stacks[b.Addr]
			if !known {
				stack = earlier
			}
			out = append(out, mark{size: b.Requested, stack: stack, alive: true})
		}
	}
	return out
}

// made returns an allocation by its ID.
func (c *collector) made(initial []mark, id uint32) mark {
	if int(id) < len(initial) {
		return initial[id]
	}
	if int(id) < len(c.alive) {
		return c.alive[id]
	}
	return mark{stack: earlier}
}

// walk goes through a recording and calls visit after each event that changes the allocated memory, with the change
// in bytes and the allocation.
func (c *collector) walk(d *snapshot.Device, initial []mark, visit func(event int, change int64, id uint32)) {
	for i, e := range d.Trace.Events {
		switch e.Kind {
		case stream.Alloc:
			visit(i, int64(e.Size), e.ID)
		case stream.Free, stream.FreeRequested:
			visit(i, -int64(c.made(initial, e.ID).size), e.ID)
		}
	}
}

// peak returns the event after which the most memory was allocated, and how much; -1 means before the first event.
func (c *collector) peak(d *snapshot.Device) (event int, bytes uint64) {
	initial := c.initial(d)
	now := int64(0)
	for _, m := range initial {
		now += int64(m.size)
	}
	event, most := -1, now
	c.walk(d, initial, func(i int, change int64, _ uint32) {
		if now += change; now > most {
			event, most = i, now
		}
	})
	return event, uint64(max(0, most))
}

// aliveAt returns the bytes that were alive after an event, by stack.
func (c *collector) aliveAt(d *snapshot.Device, event int) map[uint32]*sum {
	initial, out := c.initial(d), map[uint32]*sum{}
	add := func(stack uint32, bytes int64, n int) {
		s := out[stack]
		if s == nil {
			s = &sum{}
			out[stack] = s
		}
		s.bytes += bytes
		s.count += n
	}
	for _, m := range initial {
		add(m.stack, int64(m.size), 1)
	}
	c.walk(d, initial, func(i int, change int64, id uint32) {
		if i > event {
			return
		}
		n := 1
		if change < 0 {
			n = -1
		}
		add(c.made(initial, id).stack, change, n)
	})
	return out
}

// sum is an amount of memory in some tensors.
type sum struct {
	bytes int64
	count int
}

// kind returns a stack's kind.
func (c *collector) kind(stack uint32) string {
	if stack == earlier {
		return Unknown
	}
	return c.facts(stack).kind
}

// heldAt returns what held the memory after an event, largest first.
func (c *collector) heldAt(d *snapshot.Device, event int) (out []Held) {
	all := map[group]*Held{}
	now := ""
	if event >= 0 && event < len(d.Trace.Events) {
		now = c.kind(stackOf(d, event))
	}
	for stack, s := range c.aliveAt(d, event) {
		if s.bytes <= 0 {
			continue
		}
		g := group{c.kind(stack), -1}
		if g.kind == Temporaries && now != Temporaries && now != Optimizer {
			g.kind = Optimizer // memory that outlives its update is state
		}
		if stack != earlier {
			g.site = c.facts(stack).site
		}
		h := all[g]
		if h == nil {
			h = &Held{What: g.kind}
			if g.site >= 0 {
				h.Where = c.sites[g.site]
			}
			all[g] = h
		}
		h.Bytes += uint64(s.bytes)
		h.Count += s.count
	}
	for _, h := range all {
		out = append(out, *h)
	}
	sortHeld(out)
	return out
}

func sortHeld(all []Held) {
	slices.SortFunc(all, func(a, b Held) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.What, b.What), cmp.Compare(a.Where.Where(), b.Where.Where()))
	})
}
