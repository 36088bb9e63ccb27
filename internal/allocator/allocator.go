// SPDX-License-Identifier: Apache-2.0

// Package allocator simulates PyTorch's CUDA caching allocator. It keeps the same blocks in the same places, but no
// actual memory.
//
// # What it models
//
// PyTorch allocates segments from the driver and splits them into blocks. A freed block goes into a free set, where
// it waits for a request that it fits, and is merged with its neighbors once they are free too. Which block a
// request gets affects how the next ones fit, so peaks cannot be computed from sizes alone: the requests have to be
// played. Given the same requests, version, options and segment addresses, this package reaches the same state as the
// original after every event, to the byte.
//
// # The path of a request
//
//	round the size → choose the small or the large pool → best fit in its free set
//	  else collect old segments → grow → release oversize blocks, grow
//	  → flush the whole cache, grow → out of memory
//	split the block when enough is left over → count
//
// A free goes the other way: count → wait for other CUDA streams → merge with the neighbors → into the free set.
//
// Versions differ in details; [Version] and the rules in version.go list them. The rules were read from
// c10/cuda/CUDACachingAllocator.cpp in 2.1 to 2.12 and compared with that code running against a counting driver.
//
// # Cost
//
// Blocks live in one slice and refer to each other by index, so the garbage collector has no pointers to
// follow and a freed slot is reused at once. The free sets are bins by size under a bitmap (package
// freeset). An event costs one or two searches in them and usually no heap allocation: a recording of a
// million events plays in about a tenth of a second.
//
// An Allocator simulates one device. It is not safe for concurrent use.
package allocator

import (
	"errors"
	"fmt"
)

// Ref identifies a block that Alloc returned. It is valid until the block is freed.
type Ref int32

// Null is the Ref of a request for zero bytes, which never reaches the allocator.
const Null Ref = 0

// ErrNotAllocated means that a Ref does not refer to an allocated block.
var ErrNotAllocated = errors.New("block is not allocated")

// Allocator is the caching allocator of one device.
type Allocator struct {
	dev     Device
	version Version
	rules   rules
	opt     Options

	arena
	pools    []*pool           // blocks refer to pools by index; 0 is small, 1 is large
	streams  []uint64          // the handles of the CUDA streams
	indices  map[uint64]uint16 // stream indices, by handle
	ordered  []uint16          // streams sorted by handle; rebuilt on demand
	ranges   []virtualRange    // expandable segments; index 0 means none
	created  uint64            // creation counter of blocks
	total    uint64            // device memory reserved
	limit    uint64            // set by a memory fraction
	limited  bool
	fraction float64
	rounds   bool // whether roundup_power2_divisions is set, which is rare

	private  []*privatePool
	captures []capture
	pending  pendingFrees
	stats    statistics
	scratch  []int32
	work     uint64 // blocks that were examined one by one
}

// New returns an empty allocator for PyTorch v on dev. The zero Options are the defaults.
func New(dev Device, v Version, opt Options) (*Allocator, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	a := &Allocator{dev: dev, version: v, rules: rulesOf(v), fraction: 1}
	a.blocks = make([]block, 1, 1024)
	a.ranges = make([]virtualRange, 1)
	a.pools = []*pool{{small: true, row: rowSmall}, {row: rowLarge}}
	a.pending, a.indices = newPendingFrees(), map[uint64]uint16{}
	a.stream(0)
	a.configure(opt.filled())
	if opt.FractionSet {
		return a, a.SetMemoryFraction(opt.Fraction)
	}
	return a, nil
}

// Configure sets new options in a running process, as torch.cuda.memory._set_allocator_settings does. A memory
// fraction among them is ignored, because it applies only at start-up.
func (a *Allocator) Configure(conf string) error {
	opt, err := a.opt.Reparse(conf, a.version)
	if err != nil {
		return err
	}
	a.configure(opt)
	return nil
}

func (a *Allocator) configure(opt Options) {
	a.opt = opt
	a.rounds = opt.Divisions != [divisionSlots]uint64{}
}

// Options returns the current options.
func (a *Allocator) Options() Options { return a.opt }

// SetMemoryFraction limits the segments of this allocator to a share of the card, as
// torch.cuda.set_per_process_memory_fraction does.
func (a *Allocator) SetMemoryFraction(f float64) error {
	if !(f >= 0 && f <= 1) {
		return fmt.Errorf("memory fraction %v is not between 0 and 1", f)
	}
	_, total := a.dev.Info()
	a.fraction = f
	a.limit = uint64(f * float64(total))
	a.limited = f != 1 || !a.rules.fractionOneIsNone
	return nil
}

// stream returns the index of a CUDA stream handle, adding it if it is new.
func (a *Allocator) stream(handle uint64) uint16 {
	if i, ok := a.indices[handle]; ok {
		return i
	}
	i := uint16(len(a.streams))
	a.indices[handle] = i
	a.streams = append(a.streams, handle)
	a.pending.queues = append(a.pending.queues, nil)
	return i
}

// Alloc allocates n bytes on the CUDA stream with this handle (0 is the default stream). The error is an
// *OutOfMemoryError if they do not fit.
func (a *Allocator) Alloc(n uint64, stream uint64) (Ref, error) {
	b, err := a.alloc(n, a.stream(stream))
	return Ref(b), err
}

// Free frees a block. If other streams use it, it stays active until they are done.
func (a *Allocator) Free(r Ref) error {
	if r == Null {
		return nil
	}
	if !a.isAllocated(r) {
		return ErrNotAllocated
	}
	a.free(int32(r))
	return nil
}

// Size returns the number of bytes that r takes: at least the number requested.
func (a *Allocator) Size(r Ref) uint64 {
	if !a.isAllocated(r) {
		return 0
	}
	return a.blocks[r].size
}

func (a *Allocator) isAllocated(r Ref) bool {
	return r > 0 && int(r) < len(a.blocks) && a.blocks[r].flags&flagAllocated != 0
}
