// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"cmp"
	"fmt"
)

// obtain returns a block from the device when no cached block fits. It tries PyTorch's steps in order, each more
// drastic than the last; garbage collection and flushing are in release.go. Memory that these steps release stays
// released even if the request fails in the end.
func (a *Allocator) obtain(r *request) (int32, error) {
	r.segment = a.segmentSize(r.size)
	if err := cmp.Or(a.refusesExpandable(r), a.checkWork()); err != nil {
		return 0, err
	}
	if a.limited && a.opt.GCThreshold > 0 {
		a.collect()
	}
	if a.rejects(r) {
		a.stats.plain.OOMRejections++
		return 0, a.outOfMemory(r, true)
	}
	b := a.grow(r)
	if b == 0 && a.rules.overflowBeforeFlush {
		b = a.overflow(r)
	}
	if b == 0 {
		enough, err := a.releaseSome(r)
		if err != nil {
			return 0, err
		}
		if enough {
			b = a.grow(r)
		}
	}
	if b == 0 && len(a.captures) == 0 {
		a.releaseAll()
		a.stats.plain.AllocRetries++
		b = a.grow(r)
	}
	if b == 0 && a.rules.overflowPools && !a.rules.overflowBeforeFlush {
		b = a.overflow(r)
	}
	if b == 0 {
		a.stats.plain.OOMs++
		return 0, a.outOfMemory(r, false)
	}
	return b, nil
}

// grow allocates a segment from the device and returns its block, or 0.
func (a *Allocator) grow(r *request) int32 {
	if a.limited && a.total+r.segment > a.limit {
		return 0
	}
	if r.expandable && (r.pool.owner == nil || a.rules.privateExpandable) {
		return a.growExpandable(r)
	}
	addr, ok := a.dev.Take(r.segment)
	if !ok {
		return 0
	}
	b := a.newBlock(r.poolIndex, r.stream, addr, r.segment)
	a.countGrowth(r.pool, r.segment)
	a.stats.add(r.pool.row, segmentCount, 1)
	if r.segment >= a.opt.MaxSplitSize {
		a.stats.oversizeSg.add(1)
	}
	return b
}

// countGrowth counts device memory allocated by one call.
func (a *Allocator) countGrowth(p *pool, bytes uint64) {
	a.total += bytes
	a.stats.add(p.row, reservedBytes, bytes)
	a.stats.plain.DeviceAllocs++
	if p.owner != nil {
		p.owner.bytes += bytes
	}
}

// countShrink counts device memory released by one call.
func (a *Allocator) countShrink(p *pool, bytes uint64) {
	a.total -= bytes
	a.stats.sub(p.row, reservedBytes, bytes)
	a.stats.plain.DeviceFrees++
	if p.owner != nil {
		p.owner.bytes -= bytes
	}
}

// rejects reports whether throw_on_cudamalloc_oom makes the request fail immediately, because it exceeds the card's
// memory fraction. A request that exceeds a limit goes through the usual steps instead.
func (a *Allocator) rejects(r *request) bool {
	if !a.opt.ThrowOnOOM || a.limited && a.total+r.segment > a.limit {
		return false
	}
	_, total := a.dev.Info()
	return float64(a.total+r.segment) > a.fraction*float64(total)
}

// refusesExpandable returns the error that 2.7 to 2.9 raise for a MemPool combined with expandable segments, or nil.
func (a *Allocator) refusesExpandable(r *request) error {
	owner := r.pool.owner
	if !a.opt.Expandable || owner == nil {
		return nil
	}
	if a.rules.memPoolRefusesExp && owner.id.B != 0 || a.rules.customPoolRefuseExp && owner.CustomAllocator {
		return fmt.Errorf("PyTorch %s: a MemPool does not support expandable_segments", a.version)
	}
	return nil
}

// overflow returns a block from the MemPools that the default pool may use when memory runs out, or 0.
func (a *Allocator) overflow(r *request) int32 {
	if r.pool.owner != nil {
		return 0
	}
	for _, p := range a.private {
		if !p.UseOnOOM {
			continue
		}
		if b := a.find(r, a.pools[p.half(r.pool.small)]); b != 0 {
			return b
		}
	}
	return 0
}

func (a *Allocator) outOfMemory(r *request, rejected bool) *OutOfMemoryError {
	free, total := a.dev.Info()
	return &OutOfMemoryError{
		Version: a.version, Requested: r.bytes, Segment: r.segment,
		Total: total, Free: free,
		Allocated: a.Allocated(), Private: a.privateFree(), Reserved: a.Reserved(),
		Limit: a.limit, Limited: a.limited, Rejected: rejected,
	}
}
