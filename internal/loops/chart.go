// SPDX-License-Identifier: Apache-2.0

package loops

// Chart is the highest memory in each column of a chart. The columns divide the events [From, To) of the
// unfolded trace evenly.
type Chart struct {
	From, To            int      // of the events
	Allocated, Reserved []uint64 // bytes by column
}

// Column is the column of an event.
func (c *Chart) Column(i int) int { return (i - c.From) * len(c.Allocated) / (c.To - c.From) }

// Note adds what there was after an event.
func (c *Chart) Note(i int, allocated, reserved uint64) {
	if i < c.From || i >= c.To {
		return
	}
	k := c.Column(i)
	c.Allocated[k] = max(c.Allocated[k], allocated)
	c.Reserved[k] = max(c.Reserved[k], reserved)
}

// whole reports whether all of some events belong to one column, or none to any.
func (c *Chart) whole(at, events int) bool {
	last := at + events - 1
	if at < c.From || last >= c.To {
		return last < c.From || at >= c.To
	}
	return c.Column(at) == c.Column(last)
}
