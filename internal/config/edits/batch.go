// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"fmt"
	"math"
	"strconv"

	"snug/internal/config/projects"
)

// batches works out how batch, accumulation and the total change together, before anything is written.
// Micro-batch × accumulation × GPUs is the effective batch. Some systems have keys for all three (DeepSpeed
// refuses to start if they do not agree); others have only the total and the micro-batch.
func (c *planner) batches() error {
	p := c.project
	batch, steps, world := p.Whole("batch"), p.Accumulation(), p.World()
	if total, ok := c.want.Get("effective").(int); ok {
		c.want = c.want.Without("effective")
		each := c.number("batch", batch) * world
		if each == 0 || total%each != 0 {
			return fmt.Errorf("the effective batch of %d is not a multiple of %d, the samples in one forward pass over all GPUs", total, each)
		}
		c.want = c.want.With("accumulation", total/each)
	}
	newBatch, newSteps := c.number("batch", batch), c.number("accumulation", steps)
	if c.want.Get("accumulation") == nil && c.derived() && newBatch > 0 {
		return c.follows(newBatch * world)
	}
	if batch == 0 || newBatch == batch && newSteps == steps {
		return nil
	}
	if newBatch*newSteps != batch*steps {
		note := fmt.Sprintf("the effective batch changes from %d to %d", batch*steps*world, newBatch*newSteps*world)
		hasKey := len(c.project.BindingsOf("accumulation")) > 0 || c.project.DefaultValue("accumulation") != nil
		if was := batch * steps * world; c.want.Get("accumulation") == nil && hasKey && was%max(newBatch*world, 1) == 0 {
			note += fmt.Sprintf("; to keep it, set accumulation=%d too", was/(newBatch*world))
		}
		c.notes = append(c.notes, note)
	}
	return c.totals(batch*steps, newBatch*newSteps)
}

// derived reports whether accumulation has no key and follows from the total batch.
func (c *planner) derived() bool {
	p := c.project
	return len(p.BindingsOf("accumulation")) == 0 && p.Primary != nil && len(p.Primary.System.ForSetting("accumulation")) == 0 && p.Whole("effective") > 0
}

// follows adds a note if a change keeps the total batch, from which the system derives the accumulation, but the
// total is not a multiple of the new batch.
func (c *planner) follows(each int) error {
	if total := c.project.Whole("effective"); each <= total && total%each != 0 {
		c.note("the total batch of %d is not a multiple of %d, the samples in one forward pass over all GPUs", total, each)
	}
	return nil
}

// number returns the value that a setting will have; now is its current value.
func (c *planner) number(setting string, now int) int {
	if n, ok := c.want.Get(setting).(int); ok {
		return n
	}
	return now
}

// totals changes the keys for the effective batch. from and to are the samples per GPU of one optimizer step.
func (c *planner) totals(from, to int) error {
	p := c.project
	derived := len(p.BindingsOf("accumulation")) == 0
	for _, b := range p.BindingsOf("effective") {
		total, ok := b.Value.(int)
		switch {
		case b.Value == projects.Auto && derived && c.number("accumulation", 1) > 1:
			total = from * p.World()
		case !ok:
			continue // "auto" and null adapt by themselves
		case !derived && total%from != 0:
			return fmt.Errorf("%s: %s is %d, which is not a multiple of batch times accumulation (%d); make them agree first", b.Where(), b.Path, total, from)
		}
		now := total / from * to
		if derived {
			now = to * p.World()
		}
		if total != now || b.Value == projects.Auto {
			c.edit(b, b.Path, now)
		}
	}
	if derived && len(p.BindingsOf("effective")) > 0 {
		c.want = c.want.Without("accumulation") // it follows from the total
		return nil
	}
	if derived && p.Primary != nil && len(p.Primary.System.ForSetting("accumulation")) == 0 && len(p.Primary.System.ForSetting("effective")) > 0 {
		return c.insertTotal(to)
	}
	return nil
}

// insertTotal writes the total if the system's default was used before.
func (c *planner) insertTotal(to int) error {
	asked := c.want.Get("accumulation") != nil
	c.want = c.want.Without("accumulation")
	total := to * c.project.World()
	if !asked || total == c.project.Whole("effective") {
		return nil
	}
	return c.insert("effective", total)
}

// schedule scales an accumulation schedule. Its phases keep their proportions, so that each keeps its
// effective batch. A fractional number of forward passes is rounded, with a note.
func (c *planner) schedule(b projects.Bound, phases []projects.Phase, v any) error {
	first, ok := v.(int)
	if !ok {
		return b.Key.Cannot(v)
	}
	batch := c.project.Whole("batch")
	newBatch := c.number("batch", batch)
	for _, ph := range phases {
		exact := float64(ph.Count) * float64(first) / float64(phases[0].Count)
		count := max(int(math.Round(exact)), 1)
		if was, now := ph.Count*batch, count*newBatch; was != now && batch > 0 && ph != phases[0] {
			c.note("%s: from epoch %d on, the effective batch per GPU changes from %d to %d", b.Where(), ph.From, was, now)
		}
		if count != ph.Count {
			c.edit(b, b.Path.Join(c.phaseKey(b, ph)), count)
		}
	}
	return nil
}

// phaseKey returns the epoch of a phase as written in the file.
func (c *planner) phaseKey(b projects.Bound, ph projects.Phase) string {
	for _, key := range b.Place.Value.Keys {
		if fmt.Sprint(ph.From) == key {
			return key
		}
	}
	return strconv.Itoa(ph.From)
}
