// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"fmt"
	"slices"
)

// PoolID identifies a private pool. The zero PoolID is the default pool.
type PoolID struct {
	A uint64 // number of a CUDA graph's pool, otherwise 0
	B uint64 // number of a torch.cuda.MemPool, otherwise 0
}

// PoolOptions are the options of a torch.cuda.MemPool. The zero value is for a CUDA graph.
type PoolOptions struct {
	Accept          func(stream uint64) bool // streams that the scope covers; nil means all
	CustomAllocator bool                     // the pool's memory comes from the user's own allocator
	NoSplit         bool                     // blocks are never split (since 2.10)
	UseOnOOM        bool                     // the default pool may use its blocks when memory runs out (since 2.8)
}

// privatePool is a separate pair of pools. Its blocks serve only requests made inside its scopes.
type privatePool struct {
	PoolOptions
	id           PoolID
	small, large uint16 // indices in Allocator.pools
	uses         int    // number of uses not yet released; at 0, empty_cache may release its memory
	bytes        uint64 // device memory reserved
}

func (p *privatePool) half(small bool) uint16 {
	if small {
		return p.small
	}
	return p.large
}

// capture is an open scope: a graph being captured, or a use_mem_pool block.
type capture struct {
	pool   *privatePool
	accept func(stream uint64) bool
}

// BeginPool opens a scope in which allocations come from the pool id, which is created if necessary. While any scope
// is open, finished events are not checked, and a request that does not fit does not flush the cache.
func (a *Allocator) BeginPool(id PoolID, opt PoolOptions) error {
	if id == (PoolID{}) {
		return fmt.Errorf("pool (0,0) is the default pool; it has no scope to begin")
	}
	for _, c := range a.captures {
		if c.pool.id == id {
			return fmt.Errorf("private pool (%d,%d) has already begun", id.A, id.B)
		}
	}
	p := a.findPool(id)
	switch {
	case p == nil:
		p = a.newPrivatePool(id, opt)
	case p.uses == 0:
		return fmt.Errorf("private pool (%d,%d) was released but still has memory", id.A, id.B)
	}
	p.uses++
	a.captures = append(a.captures, capture{p, opt.Accept})
	return nil
}

// EndPool closes the scope. The blocks stay with the pool.
func (a *Allocator) EndPool(id PoolID) error {
	for i, c := range a.captures {
		if c.pool.id != id {
			continue
		}
		a.captures = slices.Delete(a.captures, i, i+1)
		if a.rules.deferredAtPoolEnd {
			a.recordDeferred(c.pool)
		}
		return nil
	}
	return fmt.Errorf("private pool (%d,%d) has not begun", id.A, id.B)
}

// ReleasePool marks the pool's graph or MemPool as deleted. The next flush of the cache releases the pool's free
// memory.
func (a *Allocator) ReleasePool(id PoolID) error {
	p := a.findPool(id)
	if p == nil || p.uses == 0 {
		return fmt.Errorf("private pool (%d,%d) does not exist or was already released", id.A, id.B)
	}
	if p.uses == 1 && slices.ContainsFunc(a.captures, func(c capture) bool { return c.pool == p }) {
		return fmt.Errorf("private pool (%d,%d) has not ended; end it first", id.A, id.B)
	}
	p.uses--
	return nil
}

func (a *Allocator) findPool(id PoolID) *privatePool {
	for _, p := range a.private {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (a *Allocator) newPrivatePool(id PoolID, opt PoolOptions) *privatePool {
	p := &privatePool{PoolOptions: opt, id: id}
	p.small = a.addPool(&pool{small: true, row: rowSmall, owner: p})
	p.large = a.addPool(&pool{row: rowLarge, owner: p})
	a.private = append(a.private, p)
	return p
}

// addPool adds a pool. It reuses the index of a deleted pool, so that a program that keeps creating graphs does not
// run out of indices.
func (a *Allocator) addPool(p *pool) uint16 {
	at := slices.Index(a.pools, nil)
	if at < 0 {
		at = len(a.pools)
		a.pools = append(a.pools, nil)
	}
	a.pools[at] = p
	return uint16(at)
}

// forgetPool drops the i-th private pool, which has no memory, with the address ranges that it reserved but never
// mapped.
func (a *Allocator) forgetPool(i int) {
	p := a.private[i]
	for _, half := range []uint16{p.small, p.large} {
		for i := range a.pools[half].unmapped {
			a.pools[half].unmapped[i].all(func(b int32) bool {
				a.drop(b)
				return true
			})
		}
	}
	a.pools[p.small], a.pools[p.large] = nil, nil
	a.private = slices.Delete(a.private, i, i+1)
}

// choosePool returns the pool for a rounded size: that of the first open scope that covers the stream, or the default
// one.
func (a *Allocator) choosePool(size uint64, stream uint16) uint16 {
	for i := range a.captures {
		c := &a.captures[i]
		if a.rules.newestCaptureFirst {
			c = &a.captures[len(a.captures)-1-i]
		}
		if c.accept == nil || c.accept(a.streams[stream]) {
			return c.pool.half(size <= SmallSize)
		}
	}
	if size <= SmallSize {
		return 0
	}
	return 1
}

// privateFree returns the size of the free blocks in private pools, which error messages count as allocated because
// other pools cannot use them.
func (a *Allocator) privateFree() uint64 {
	var bytes uint64
	for _, p := range a.private {
		for _, half := range []uint16{p.small, p.large} {
			for _, i := range a.freeBlocks(a.pools[half]) {
				bytes += a.blocks[i].size
			}
		}
	}
	return bytes
}
