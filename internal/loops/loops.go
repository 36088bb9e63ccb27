// SPDX-License-Identifier: Apache-2.0

// Package loops is PyTorch's caching allocator for a stream whose loops are folded.
//
// A model that goes token by token makes tens of millions of events, nearly all of
// them in loops whose iterations are alike. Package allocator would play them one
// by one; here most iterations are never played. The result is the same to the
// byte, and a property test holds the two together.
//
// # How iterations are passed over
//
// What an allocation gets depends on which free blocks there are, and on nothing
// else. So some iterations are played one by one while their decisions are
// recorded: which segments they touched, how those were laid out before and
// after, and what else had to be true for each decision to come out as it did.
// Such a recording is a shortcut. Where all of its conditions hold again, the
// iterations that come next do the same again, and only what they change has to be
// written down: a few segments get another layout. Where one does not hold, the
// next iteration is played.
//
// Nothing is extrapolated: a shortcut is checked each time it is taken. That costs
// some ten nanoseconds for each segment that it touches, instead of some fifty for
// each event, of which a segment sees hundreds.
//
// # What makes that cheap
//
// A segment's layout is a value: blocks and whether they are in use, without who
// uses them. Equal layouts are one (layout.go), so that comparing two is comparing
// two numbers, and a thousand segments that were filled alike take no more memory
// than one. Who has which block is kept apart, by runs (owners.go).
//
// It knows the default options and the versions up to 2.11, where ties between
// free blocks go to the lower address; the rest is for package allocator.
package loops

import (
	"fmt"

	"snug/internal/allocator"
	"snug/internal/stream"
	"snug/internal/units"
)

// The allocator's constants, sizes of blocks in quanta.
const (
	quantum     = 512
	smallMost   = units.MiB / quantum      // the largest request of the small pool
	smallBuffer = 2 * units.MiB / quantum  // a segment of the small pool
	largeBuffer = 20 * units.MiB / quantum // a segment for up to minLarge
	minLarge    = 10 * units.MiB / quantum // from here on a segment is made to measure
	roundLarge  = 2 * units.MiB / quantum
	absurd      = uint64(1) << 60 // bytes, refused before anything else is tried
)

// Suits says whether this package knows an allocator.
func Suits(v allocator.Version, o allocator.Options) bool {
	return !v.AtLeast(12) && (o == allocator.Options{} || o == allocator.DefaultOptions())
}

// Player plays one stream, any number of times. What it learns of the loops in one
// play is of use in the next. It is not safe for concurrent use.
type Player struct {
	version allocator.Version
	stream  *stream.Folded
	asked   []uint64 // bytes that allocations asked for, by ID
	bodies  map[string]*class
	layouts

	cutLeast, voidLeast uint64

	process
}

// process is the allocator of one play.
type process struct {
	dev   *allocator.Driver
	limit uint64  // bytes that may be reserved, if it is not 0
	sets  []holes // of each CUDA stream the small pool's, then the large one's
	segments

	single []place   // where the allocations that stand for one are
	many   []*owners // where those that stand for many are, by ID
	local  []place   // what the turn that is played made, by place
	watch  watch
	trial  trial

	idleRuns [][]run // of owners that were forgotten

	tally
}

// New is a player of a stream for PyTorch v.
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

// begin makes a new process.
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
