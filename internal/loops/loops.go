// SPDX-License-Identifier: Apache-2.0

// Package loops simulates PyTorch's caching allocator for a stream with loops.
//
// A model that runs token by token makes tens of millions of events, nearly all of them in loops whose
// iterations are alike. Package allocator would play them one by one; this package skips most iterations.
// The result is the same to the byte, and a property test compares the two.
//
// # How iterations are skipped
//
// The block that an allocation gets depends only on which blocks are free. So some iterations are played one by
// one while their decisions are recorded: which segments they touched, the layouts of these segments before and
// after, and the conditions under which each decision would be the same. This recording is a shortcut. If all its
// conditions hold again, the next iterations do the same, and only their changes are applied: a few segments get
// a new layout. If a condition fails, the next iteration is played.
//
// Nothing is extrapolated: a shortcut is checked each time it is taken. A check takes about ten nanoseconds per
// segment touched; playing takes about fifty per event, and hundreds of events touch the same segment.
//
// # What makes the checks cheap
//
// A segment's layout is a value: its blocks and whether each is in use, but not by which allocation.
// Equal layouts are stored once (layout.go), so two layouts are compared by comparing two numbers, and a thousand
// segments with the same layout need no more memory for it than one. Which allocation owns which block is stored
// separately, in runs (owners.go).
//
// The package supports the default options and versions up to 2.11, in which the lower address wins ties between
// free blocks. Package allocator handles everything else.
package loops

import (
	"fmt"

	"snug/internal/allocator"
	"snug/internal/stream"
)

// The allocator's constants, from allocator/sizes.go, in quanta.
const (
	quantum     = allocator.Quantum
	smallMost   = allocator.SmallSize / quantum
	smallBuffer = allocator.SmallBuffer / quantum
	largeBuffer = allocator.LargeBuffer / quantum
	minLarge    = allocator.MinLarge / quantum
	roundLarge  = allocator.RoundLarge / quantum
	absurd      = uint64(1) << 60 // bytes; larger requests are refused at once
)

// Suits reports whether this package supports a version and options.
func Suits(v allocator.Version, o allocator.Options) bool {
	return !v.AtLeast(12) && (o == allocator.Options{} || o == allocator.DefaultOptions())
}

// Player plays one stream any number of times. Later plays reuse the shortcuts found by earlier ones. It is not
// safe for concurrent use.
type Player struct {
	version allocator.Version
	stream  *stream.Folded
	asked   []uint64 // requested bytes by allocation ID
	bodies  map[string]*class
	layouts

	cutLeast, voidLeast uint64

	process
}

// process is the allocator of one play.
type process struct {
	dev   *allocator.Driver
	limit uint64  // limit on reserved bytes, 0 for none
	sets  []holes // holes of the small pool, then of the large pool, for each CUDA stream
	segments

	single []place   // places of allocations outside loops
	many   []*owners // places of allocations in loops, by ID
	local  []place   // allocations of the current iteration, by index
	watch  watch
	trial  trial

	idleRuns [][]run // memory of forgotten owners, for reuse

	tally
}

// New returns a player that plays a stream with PyTorch version v.
func New(v allocator.Version, f *stream.Folded) (*Player, error) {
	p := &Player{
		version: v, stream: f, asked: make([]uint64, f.Trace.Allocations()),
		bodies: map[string]*class{}, layouts: layouts{bySum: map[uint64]int32{}},
		cutLeast: cutLeast, voidLeast: voidLeast,
	}
	for i := range f.Trace.Events {
		e := &f.Trace.Events[i]
		if e.Kind != stream.Alloc {
			continue
		}
		if e.Size > Largest && e.Size < absurd {
			return nil, fmt.Errorf("%w: an allocation of %d bytes", ErrTooLarge, e.Size)
		}
		p.asked[e.ID] = e.Size
	}
	return p, nil
}

// begin starts a new process.
func (p *Player) begin(dev *allocator.Driver, limit uint64) {
	for i := range p.shared {
		p.shared[i].members = members{}
	}
	idle := p.idleRuns
	for _, o := range p.many {
		if o != nil {
			idle = append(idle, o.runs[:0])
		}
	}
	n := p.stream.Trace.Allocations()
	p.process = process{
		dev: dev, limit: limit, sets: make([]holes, 2*len(p.stream.Trace.Queues)),
		single: make([]place, n), many: make([]*owners, n), idleRuns: idle,
	}
	for _, l := range p.stream.Loops() {
		for _, e := range p.stream.Trace.Events[l.From:l.To] {
			if e.Kind == stream.Alloc {
				p.many[e.ID] = &owners{down: l.Down}
			}
		}
	}
}
