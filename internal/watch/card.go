// SPDX-License-Identifier: Apache-2.0

package watch

import "slices"

// card is what is known about one GPU.
type card struct {
	device  Device
	uuid    string
	total   int64
	used    int64
	newest  GPU
	t       float64
	samples int
	utils   []utilSample
	curve   curve[CurvePoint]
	others  map[int]int64 // memory of unwatched processes, by PID
}

type utilSample struct{ t, percent float64 }

// The window over which a GPU's utilization is averaged: long enough for several steps, even slow ones.
const (
	utilSeconds = 10.0
	utilSamples = 8
	utilKept    = 256
)

// add adds a sample.
func (c *card) add(t float64, g GPU) {
	c.newest, c.t, c.used = g, t, g.Used
	c.samples++
	if g.Total > g.Reserved {
		c.total = g.Total - g.Reserved
	}
	if g.UUID != "" {
		c.uuid = g.UUID
	}
	point := CurvePoint{T: t, Used: float64(g.Used)}
	if g.Util != nil {
		point.Util = *g.Util
	}
	c.curve.add(point)
	if g.Util != nil {
		c.utils = append(c.utils, utilSample{t, *g.Util})
		if len(c.utils) > 2*utilKept {
			c.utils = append(c.utils[:0], c.utils[utilKept:]...)
		}
	}
}

// use is a card's recent utilization.
type use struct {
	mean float64 // percent
	idle float64 // fraction of samples in which nothing ran
}

// idleBelow is the utilization, in percent, below which a sample is considered idle.
const idleBelow = 5

// use returns the card's utilization in the last seconds, but not before since. It returns false if there are too few
// samples.
func (c *card) use(since float64) (use, bool) {
	i := len(c.utils)
	for i > 0 && c.utils[i-1].t >= since && (c.utils[i-1].t > c.t-utilSeconds || len(c.utils)-i < utilSamples) {
		i--
	}
	window := c.utils[i:]
	if len(window) < utilSamples {
		return use{}, false
	}
	var u use
	for _, s := range window {
		u.mean += s.percent / float64(len(window))
		if s.percent <= idleBelow {
			u.idle += 1 / float64(len(window))
		}
	}
	return u, true
}

// busyAt returns when the card first computed after since, or -1 if it did not. A card with unknown utilization
// counts as busy.
func (c *card) busyAt(since float64) float64 {
	if len(c.utils) == 0 {
		return since
	}
	for _, s := range c.utils {
		if s.t >= since && s.percent >= leastUse {
			return s.t
		}
	}
	return -1
}

// Signs that a GPU is waiting: it is idle most of the time, or it pauses between bursts of work. Kernels that are too
// small to fill the time leave the GPU busy for part of each sample, but without pauses.
const (
	mostlyIdle  = 35   // percent: below this, the GPU is waiting
	pausesBelow = 60   // percent: below this, a GPU that also pauses is waiting
	pauses      = 0.25 // minimum fraction of idle samples in a GPU that pauses
	mostlyBusy  = 85   // percent: above this, the GPU is not waiting, whatever the program does
	waitsMuch   = 0.3  // fraction of a step spent waiting for the DataLoader
)

func (u use) starved() bool {
	return u.mean < mostlyIdle || u.mean < pausesBelow && u.idle >= pauses
}

// otherProcess returns the total memory of unwatched processes, and the PID of the largest.
func (c *card) otherProcess() (sum int64, largest int) {
	most := int64(-1)
	pids := make([]int, 0, len(c.others))
	for pid := range c.others {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	for _, pid := range pids {
		sum += c.others[pid]
		if c.others[pid] > most {
			most, largest = c.others[pid], pid
		}
	}
	return sum, largest
}
