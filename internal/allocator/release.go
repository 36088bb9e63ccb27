// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"errors"

	"snug/internal/freeset"
)

// ErrSplitSegment stands for a failed internal assertion of PyTorch: expandable_segments was switched at run time in
// combination with max_split_size, and an oversize segment that was split with one setting is released with the
// other.
var ErrSplitSegment = errors.New("max_split_size and expandable_segments, switched at run time, " +
	"would return part of a segment; PyTorch fails its own assertion here")

// EmptyCache does what torch.cuda.empty_cache does. During a capture it affects only private pools that were
// released; before 2.8 PyTorch fails instead.
func (a *Allocator) EmptyCache() error {
	if len(a.captures) > 0 && !a.rules.emptyCacheInCapture {
		return errors.New("empty_cache during a capture fails before PyTorch 2.8")
	}
	a.releaseAll()
	return a.checkWork()
}

// releaseAll releases everything that is completely free: segments of one block, and whole pages of expandable
// segments. A segment that is partly in use is never released, whatever the pressure.
func (a *Allocator) releaseAll() {
	if len(a.captures) == 0 {
		a.synchronize()
		a.releasePoolBlocks(a.pools[1])
		a.releasePoolBlocks(a.pools[0])
	}
	for i := 0; i < len(a.private); {
		p := a.private[i]
		if p.uses > 0 {
			i++
			continue
		}
		a.releasePoolBlocks(a.pools[p.small])
		a.releasePoolBlocks(a.pools[p.large])
		if p.bytes > 0 {
			i++
			continue
		}
		a.forgetPool(i)
	}
}

func (a *Allocator) releasePoolBlocks(p *pool) {
	blocks := a.freeBlocks(p)
	expandable := blocks[:0]
	for _, i := range blocks {
		if b := &a.blocks[i]; b.vrange != 0 {
			expandable = append(expandable, i)
		} else if !b.split() {
			a.returnSegment(i)
		}
	}
	// Unmapping changes the free set, so the blocks are listed first.
	for _, i := range expandable {
		a.unmapPages(i)
		if !a.blocks[i].split() && !a.blocks[i].mapped() {
			a.eraseUnmapped(i)
			a.drop(i)
		}
	}
}

// returnSegment releases the completely free segment i to the device.
func (a *Allocator) returnSegment(i int32) {
	a.eraseFree(i)
	b := a.blocks[i]
	p := a.poolOf(&b)
	a.dev.Give(b.addr, b.size)
	a.countShrink(p, b.size)
	a.stats.sub(p.row, segmentCount, 1)
	if b.size >= a.opt.MaxSplitSize {
		a.stats.oversizeSg.sub(1)
	}
	a.drop(i)
}

// releaseSome releases oversize blocks to the device: one that is large enough, or as many as needed, largest first.
// It does so only if max_split_size is set. It reports whether that was enough; the blocks stay released either way.
func (a *Allocator) releaseSome(r *request) (bool, error) {
	limit := a.opt.MaxSplitSize
	if limit == Unlimited {
		return false, nil
	}
	want := max(r.size, limit)
	set := r.pool.makeSet(r.stream)
	set.Settle()
	c := set.SeekSize(want)
	if !c.End() {
		if i := set.At(c).Block; a.blocks[i].vrange == 0 {
			return true, a.returnWhole(i)
		}
	}
	var released uint64
	for _, i := range a.largestBelow(set, c) {
		b := &a.blocks[i]
		if released >= want || b.size < limit {
			break
		}
		if b.vrange != 0 {
			continue
		}
		released += b.size
		if err := a.returnWhole(i); err != nil {
			return false, err
		}
	}
	return released >= want, nil
}

func (a *Allocator) returnWhole(i int32) error {
	if a.blocks[i].split() {
		return ErrSplitSegment
	}
	a.returnSegment(i)
	return nil
}

// largestBelow lists the blocks before c, largest first.
func (a *Allocator) largestBelow(set *freeset.Set, c freeset.Cursor) []int32 {
	a.scratch = a.scratch[:0]
	for at, ok := set.Prev(c); ok; at, ok = set.Prev(at) {
		e := set.At(at)
		if e.Size < a.opt.MaxSplitSize {
			break
		}
		a.scratch = append(a.scratch, e.Block)
	}
	a.work += uint64(len(a.scratch))
	return a.scratch
}

// collect implements garbage_collection_threshold: above that share of the limit, it releases free segments of the
// large pool, oldest first. Age is the number of find calls since the block became free. obtain in grow.go calls
// collect before it asks the driver. (Before 2.3 each block had its own counter; the numbers are the same.)
func (a *Allocator) collect() {
	threshold := uint64(a.opt.GCThreshold * float64(a.limit))
	if a.total <= threshold {
		return
	}
	target, got := a.total-threshold, uint64(0)
	p := a.pools[1]
	age, count := 0.0, 0
	for _, i := range a.freeBlocks(p) {
		if b := &a.blocks[i]; !b.split() {
			age += float64(p.findCalls - b.gcBase)
			count++
		}
	}
	for freed := true; got < target && freed && count > 0 && a.work < maxWork; {
		freed = false
		cut := age / float64(count)
		for _, i := range a.freeBlocks(p) {
			b := &a.blocks[i]
			own := float64(p.findCalls - b.gcBase)
			if b.split() || b.vrange != 0 || own < cut {
				continue
			}
			freed, got, age = true, got+b.size, age-own
			count--
			a.returnSegment(i)
		}
	}
}
