// SPDX-License-Identifier: Apache-2.0

package loops

// Chart holds the peak memory in each column of a chart. The columns divide the events [From, To) of the unfolded
// trace evenly.
type Chart struct {
	From, To            int      // the events shown
	Allocated, Reserved []uint64 // bytes by column
}

// Column returns the column of an event.
func (c *Chart) Column(i int) int { return (i - c.From) * len(c.Allocated) / (c.To - c.From) }

// Note records the memory after an event.
func (c *Chart) Note(i int, allocated, reserved uint64) {
	if i < c.From || i >= c.To {
		return
	}
	k := c.Column(i)
	c.Allocated[k] = max(c.Allocated[k], allocated)
	c.Reserved[k] = max(c.Reserved[k], reserved)
}

// whole reports whether a range of events is within one column, or outside the chart.
func (c *Chart) whole(at, events int) bool {
	last := at + events - 1
	if at < c.From || last >= c.To {
		return last < c.From || at >= c.To
	}
	return c.Column(at) == c.Column(last)
}
