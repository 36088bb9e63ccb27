// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// NoID is the ID of a block that does not belong to an allocation in a trace.
const NoID uint32 = math.MaxUint32

// BlockUse is the state of a block, as named in PyTorch's snapshots.
type BlockUse uint8

// The three states of a block.
const (
	Inactive        BlockUse = iota // in the free set
	ActiveAllocated                 // in use by the program
	ActivePending                   // freed, awaiting another CUDA stream
)

// BlockState is a block in a SegmentState. Blocks are contiguous, so their addresses are not stored.
type BlockState struct {
	Size      uint64   // bytes
	Requested uint64   // meaningless when inactive
	Use       BlockUse // whether it is free, allocated, or waiting for a CUDA stream
	ID        uint32   // ID of the allocation in the trace, or NoID
}

// SegmentState is a segment in a snapshot; for an expandable segment, one contiguous mapped stretch.
type SegmentState struct {
	Address    uint64       // address of its first byte
	Size       uint64       // bytes
	Stream     uint64       // CUDA stream handle
	Small      bool         // it belongs to the small pool, for requests up to 1 MiB
	Expandable bool         // it grows page by page (expandable_segments)
	Pool       PoolID       // the private pool; zero is the default pool
	Blocks     []BlockState // sorted by address
}

// Segments lists all reserved memory, by address.
func (a *Allocator) Segments() []SegmentState {
	var out []SegmentState
	for i := 1; i < len(a.blocks); i++ {
		if b := &a.blocks[i]; b.size > 0 && b.prev == 0 {
			out = a.appendSegments(out, int32(i))
		}
	}
	slices.SortStableFunc(out, func(x, y SegmentState) int { return cmp.Compare(x.Address, y.Address) })
	return out
}

// appendSegments appends the segments in one chain of blocks. Unmapped blocks separate the segments.
func (a *Allocator) appendSegments(out []SegmentState, head int32) []SegmentState {
	open := false
	for i := head; i != 0; i = a.blocks[i].next {
		b := &a.blocks[i]
		if !b.mapped() {
			open = false
			continue
		}
		if !open {
			out = append(out, a.segmentAt(b))
			open = true
		}
		s := &out[len(out)-1]
		s.Size += b.size
		s.Blocks = append(s.Blocks, BlockState{b.size, b.requested, b.use(), b.owner})
	}
	return out
}

func (a *Allocator) segmentAt(b *block) SegmentState {
	p := a.poolOf(b)
	s := SegmentState{Address: b.addr, Stream: a.streams[b.stream], Small: p.small, Expandable: b.vrange != 0}
	if p.owner != nil {
		s.Pool = p.owner.id
	}
	return s
}

func (b *block) use() BlockUse {
	switch {
	case b.flags&flagAllocated != 0:
		return ActiveAllocated
	case !b.idle():
		return ActivePending
	default:
		return Inactive
	}
}

// Restore rebuilds the state of a snapshot in an empty allocator, so that a trace can be played from there. Peaks
// start at the restored state. A snapshot does not record the order in which blocks were created; from 2.12, where
// ties depend on it, the given order is assumed.
func (a *Allocator) Restore(segments []SegmentState) error {
	if len(a.blocks) > 1 {
		return fmt.Errorf("restoring a snapshot: the allocator is already in use")
	}
	for i := range segments {
		if err := segments[i].check(); err != nil {
			return fmt.Errorf("restoring segment %d at %#x: %w", i, segments[i].Address, err)
		}
	}
	if err := checkOwners(segments); err != nil {
		return err
	}
	byAddress := slices.Clone(segments)
	slices.SortStableFunc(byAddress, func(x, y SegmentState) int { return cmp.Compare(x.Address, y.Address) })
	for i := 1; i < len(byAddress); i++ {
		if last := &byAddress[i-1]; byAddress[i].Address-last.Address < last.Size {
			return fmt.Errorf("restoring a snapshot: the segments at %#x and %#x overlap", last.Address, byAddress[i].Address)
		}
	}
	so := &restoring{tails: make([]int32, 1), newest: map[rangeOwner]int32{}}
	for i := range byAddress {
		a.restoreSegment(&byAddress[i], so)
	}
	a.closeRanges(so)
	return nil
}

// maxOwners limits the pools and CUDA streams with segments, and the streams of a trace. Each takes a few
// kilobytes, and no real program has that many.
const maxOwners = 4096

// checkOwners returns an error if segments have more than maxOwners pools and streams.
func checkOwners(segments []SegmentState) error {
	type owner struct {
		pool   PoolID
		stream uint64
		small  bool
	}
	seen := map[owner]struct{}{}
	for i := range segments {
		s := &segments[i]
		if seen[owner{s.Pool, s.Stream, s.Small}] = struct{}{}; len(seen) > maxOwners {
			return fmt.Errorf("restoring a snapshot: its segments belong to more than %d pools and streams", maxOwners)
		}
	}
	return nil
}

func (s *SegmentState) check() error {
	if s.Size == 0 || s.Size >= absurdlyLarge {
		return fmt.Errorf("size %d is out of range", s.Size)
	}
	var sum uint64
	for i, b := range s.Blocks {
		if b.Size == 0 || b.Size > s.Size-sum {
			return fmt.Errorf("block %d of %d bytes does not fit into its segment of %d", i, b.Size, s.Size)
		}
		if b.Use > ActivePending {
			return fmt.Errorf("block %d has the unknown state %d", i, b.Use)
		}
		sum += b.Size
	}
	if sum != s.Size {
		return fmt.Errorf("its blocks add up to %d bytes, but the segment has %d", sum, s.Size)
	}
	return nil
}
