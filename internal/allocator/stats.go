// SPDX-License-Identifier: Apache-2.0

package allocator

// Stat is one statistic of torch.cuda.memory_stats.
type Stat struct {
	Current   uint64 // now
	Peak      uint64 // the most since the last ResetPeak
	Allocated uint64 // every increase, summed
	Freed     uint64 // every decrease, summed
}

// ByPool is a statistic for the whole allocator and for each kind of pool,
// private pools included.
type ByPool struct {
	All   Stat // both kinds of pools
	Small Stat // pools for allocations of up to 1 MiB
	Large Stat // pools for larger allocations
}

// Stats are the values in torch.cuda.memory_stats, under the same names.
type Stats struct {
	Allocation         ByPool // live allocations of the program
	AllocatedBytes     ByPool // bytes in their blocks; All.Current is torch.cuda.memory_allocated
	Active             ByPool // blocks that are allocated or waiting for another CUDA stream
	ActiveBytes        ByPool // their bytes
	RequestedBytes     ByPool // bytes requested, before rounding, in active blocks
	ReservedBytes      ByPool // device memory reserved; All.Current is torch.cuda.memory_reserved
	Segment            ByPool // segments that are not expandable
	InactiveSplit      ByPool // free blocks whose segment is partly in use
	InactiveSplitBytes ByPool // their bytes

	OversizeAllocations Stat // blocks of max_split_size or more
	OversizeSegments    Stat // segments of that size

	AllocRetries   uint64 // number of cache flushes because memory ran out
	OOMs           uint64 // requests that failed
	OOMRejections  uint64 // throw_on_cudamalloc_oom, from 2.12
	SyncAllStreams uint64 // number of waits for all CUDA streams
	DeviceAllocs   uint64 // number of calls of cudaMalloc or cuMemCreate
	DeviceFrees    uint64 // number of calls of cudaFree or cuMemRelease
}

// counter is a Stat being counted. Freed is computed from the other fields, because counting it would slow down
// every event.
type counter struct {
	current, peak, allocated uint64
	origin                   uint64 // current when the sums were last reset
}

func (c *counter) add(n uint64) {
	c.current += n
	c.allocated += n
	if c.current > c.peak {
		c.peak = c.current
	}
}

// raise is add for the row of all pools. That row keeps no totals, because they are the sums of the other two
// rows.
func (c *counter) raise(n uint64) {
	c.current += n
	if c.current > c.peak {
		c.peak = c.current
	}
}

func (c *counter) sub(n uint64) { c.current -= n }

func (c *counter) stat() Stat {
	return Stat{c.current, c.peak, c.allocated, c.origin + c.allocated - c.current}
}

func (c *counter) resetSums() { c.origin, c.allocated = c.current, 0 }

// Indices of the counters in a tally.
const (
	allocation = iota
	allocatedBytes
	active
	activeBytes
	requestedBytes
	reservedBytes
	segmentCount
	inactiveSplit
	inactiveSplitBytes
	perPoolCounters
)

// tally is one row of statistics: for the small pools, the large pools, or all.
type tally [perPoolCounters]counter

// Rows of statistics. A pool's row depends on whether it is small.
const (
	rowAll = iota
	rowSmall
	rowLarge
	rows
)

type statistics struct {
	row                  [rows]tally
	oversize, oversizeSg counter
	plain                Stats // only its uint64 counters are used
}

func (s *statistics) add(row int, what int, n uint64) {
	s.row[rowAll][what].raise(n)
	s.row[row][what].add(n)
}

func (s *statistics) sub(row int, what int, n uint64) {
	s.row[rowAll][what].sub(n)
	s.row[row][what].sub(n)
}

// change applies a net difference as one step, so that a merge that removes two blocks and adds one does not affect
// the peak.
func (s *statistics) change(row int, what int, n int64) {
	switch {
	case n > 0:
		s.add(row, what, uint64(n))
	case n < 0:
		s.sub(row, what, uint64(-n))
	}
}

func (s *statistics) byPool(what int) ByPool {
	p := ByPool{Small: s.row[rowSmall][what].stat(), Large: s.row[rowLarge][what].stat()}
	all := &s.row[rowAll][what]
	p.All = Stat{all.current, all.peak, p.Small.Allocated + p.Large.Allocated, p.Small.Freed + p.Large.Freed}
	return p
}

// Stats returns all statistics as they are now.
func (a *Allocator) Stats() Stats {
	s, out := &a.stats, a.stats.plain
	for i, p := range []*ByPool{
		&out.Allocation, &out.AllocatedBytes, &out.Active, &out.ActiveBytes, &out.RequestedBytes,
		&out.ReservedBytes, &out.Segment, &out.InactiveSplit, &out.InactiveSplitBytes,
	} {
		*p = s.byPool(i)
	}
	out.OversizeAllocations, out.OversizeSegments = s.oversize.stat(), s.oversizeSg.stat()
	return out
}

// Allocated returns torch.cuda.memory_allocated, without the cost of Stats.
func (a *Allocator) Allocated() uint64 { return a.stats.row[rowAll][allocatedBytes].current }

// Reserved returns torch.cuda.memory_reserved, without the cost of Stats.
func (a *Allocator) Reserved() uint64 { return a.stats.row[rowAll][reservedBytes].current }

// ResetPeak does what torch.cuda.reset_peak_memory_stats does.
func (a *Allocator) ResetPeak() {
	a.stats.each(func(c *counter) { c.peak = c.current })
}

// ResetAccumulated does what torch.cuda.reset_accumulated_memory_stats does.
func (a *Allocator) ResetAccumulated() {
	a.stats.each((*counter).resetSums)
	a.stats.plain = Stats{}
}

func (s *statistics) each(do func(*counter)) {
	for r := range s.row {
		for i := range s.row[r] {
			do(&s.row[r][i])
		}
	}
	do(&s.oversize)
	do(&s.oversizeSg)
}
