// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"encoding/json"

	"snug/internal/allocator"
	"snug/internal/stream"
)

// columns are a variant's events split into columns.
type columns struct {
	kinds, formulas, allocQueues, ages, queues encoder
}

func (e *encoder) variant(v *variant) {
	for _, q := range v.at {
		e.int(q)
	}
	start, err := json.Marshal(v.start)
	if err != nil {
		panic("profile: a segment that is not JSON: " + err.Error()) // cannot happen: segments contain only numbers and flags
	}
	e.bytes(start)
	e.uint(uint64(len(v.queues)))
	for _, q := range v.queues {
		e.uint(q)
	}
	e.uint(uint64(v.before))
	e.uint(uint64(v.made))
	c := v.columns()
	for _, column := range []*encoder{&c.kinds, &c.formulas, &c.allocQueues, &c.ages, &c.queues} {
		e.bytes(column.out)
	}
}

func (v *variant) columns() *columns {
	c := &columns{}
	names := v.order()
	made, far := v.before, uint32(0)
	for i := range v.events {
		ev := &v.events[i]
		c.kinds.out = append(c.kinds.out, byte(ev.kind))
		if ev.kind == stream.Alloc {
			c.formulas.uint(uint64(ev.formula))
			c.allocQueues.uint(uint64(ev.queue))
			made++
			continue
		}
		if ev.kind == stream.Mark || ev.kind == stream.EmptyCache {
			c.ages.uint(uint64(ev.id))
		} else {
			c.ages.age(made, names[ev.id], &far)
		}
		c.queues.uint(uint64(ev.queue))
	}
	return c
}

// nearAge is the smallest age at which the free of an allocation is encoded relative to
// the previous such free.
const nearAge = 64

// age writes which allocation an event refers to. One of the last nearAge allocations is given by its age: the number
// of allocations since. Older ones, which a backward pass frees in allocation order or in reverse, are given relative
// to the previous old one.
func (e *encoder) age(made, id uint32, far *uint32) {
	if age := made - 1 - id; age < nearAge {
		e.uint(uint64(age) << 1)
		return
	}
	delta := int64(id) - int64(*far)
	e.uint(uint64(delta<<1^delta>>63)<<1 | 1)
	*far = id
}

// age reads the allocation that an event refers to.
func (d *decoder) age(made uint32, far *uint32) uint32 {
	v := d.uint()
	id := int64(made) - 1 - int64(v>>1)
	if v&1 != 0 {
		z := v >> 1 // zigzag encoding
		delta := int64(z>>1) ^ -int64(z&1)
		id = int64(*far) + delta
		*far = uint32(id)
	}
	if id < 0 || id >= int64(made) {
		d.fail("an event refers to allocation %d of %d", id, made)
		return 0
	}
	return uint32(id)
}

// order returns each allocation's number in allocation order, including inserted ones.
func (v *variant) order() []uint32 {
	names := make([]uint32, v.made)
	made := v.before
	for i := range v.before {
		names[i] = i
	}
	for i := range v.events {
		if ev := &v.events[i]; ev.kind == stream.Alloc {
			names[ev.id] = made
			made++
		}
	}
	return names
}

func (d *decoder) variant(p *Program) variant {
	var v variant
	for range p.Names {
		v.at = append(v.at, d.int())
		if q := v.at[len(v.at)-1]; q < 1 || q > maxQuantity {
			d.fail("a recording has the impossible size %d", q)
		}
	}
	d.segments(&v)
	for range d.atMost(maxQueues, "CUDA streams") {
		v.queues = append(v.queues, d.uint())
	}
	v.before, v.made = uint32(d.below(1<<31, "allocations,")), uint32(d.below(1<<31, "allocations,"))
	d.checkStart(v.start, v.before)
	in := [5]decoder{}
	for i := range in {
		in[i] = decoder{in: d.bytes()}
	}
	d.events(p, &v, &in)
	return v
}

// segments reads the segments that existed before the first event.
func (d *decoder) segments(v *variant) {
	text := d.bytes()
	if d.segmentBytes += len(text); d.segmentBytes > maxSegments {
		d.fail("more than %d bytes of segments", maxSegments)
		return
	}
	if d.segmentCommas += bytes.Count(text, []byte(",")); d.segmentCommas > maxCommas { // each comma may separate two segments
		d.fail("more than %d values in its segments", maxCommas)
		return
	}
	if err := json.Unmarshal(text, &v.start); err != nil && d.err == nil {
		d.fail("its segments: %v", err)
	}
}

// checkStart checks that every allocation before the first event has a block.
func (d *decoder) checkStart(start []allocator.SegmentState, before uint32) {
	blocks := 0
	for i := range start {
		blocks += len(start[i].Blocks)
	}
	if int(before) > blocks {
		d.fail("it starts with %d allocations in %d blocks", before, blocks)
	}
}

func (d *decoder) events(p *Program, v *variant, in *[5]decoder) {
	kinds, formulas, allocQueues, ages, queues := in[0].in, &in[1], &in[2], &in[3], &in[4]
	if rest := min(len(formulas.in)+len(ages.in), len(allocQueues.in)+len(queues.in)); len(kinds) > rest {
		d.fail("%d events, but columns for %d", len(kinds), rest)
		return
	}
	if n := p.events() + len(kinds); n > maxEvents {
		d.fail("%d events or more, but at most %d are allowed", n, maxEvents)
		return
	}
	v.events = make([]event, len(kinds))
	made, far := v.before, uint32(0)
	for i, kind := range kinds {
		e := event{kind: stream.Kind(kind)}
		switch {
		case e.kind > stream.Mark:
			d.fail("unknown event kind %d", kind)
		case e.kind == stream.Alloc:
			e.id, e.formula = made, uint32(formulas.below(len(p.formulas), "a formula's index"))
			e.queue = uint16(allocQueues.below(len(v.queues), "a queue's index"))
			made++
		case e.kind == stream.Mark || e.kind == stream.EmptyCache:
			e.id, e.queue = uint32(ages.uint()), uint16(queues.uint())
		default:
			e.id = ages.age(made, &far)
			e.queue = uint16(queues.below(len(v.queues), "a queue's index"))
		}
		if v.events[i] = e; d.err != nil {
			return
		}
	}
	for i := range in {
		if in[i].err != nil && d.err == nil {
			d.err, d.in = in[i].err, nil
		}
	}
	if made != v.made {
		d.fail("%d allocations, but %d declared", made, v.made)
	}
}
