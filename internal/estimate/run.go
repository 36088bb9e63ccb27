// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"errors"

	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/stream"
)

// run is the seam between who makes a stream and who plays it. A simulated run
// is its trace alone; a recorded one may begin with memory that was there
// already, and hold more than was recorded.
type run struct {
	trace *stream.Trace
	start []allocator.SegmentState
	kept  uint64 // bytes that are held from beginning to end beside the trace
}

// allocator makes the one that the setup's process would have.
func (r *run) allocator(s *setup.Setup, card gpu.Card, limit uint64) (*allocator.Allocator, error) {
	v, opt, err := settingsOf(s)
	if err != nil {
		return nil, err
	}
	total := card.Total
	if total == 0 {
		total = endless
	}
	al, err := allocator.New(allocator.NewDriver(total, card.Outside), v, opt)
	if err == nil && limit > 0 && limit < total {
		err = al.SetMemoryFraction(float64(limit) / float64(total))
	}
	if err == nil {
		err = al.Restore(r.start)
	}
	return al, err
}

// settingsOf is the allocator's version and options. A profile brings its own.
func settingsOf(s *setup.Setup) (allocator.Version, allocator.Options, error) {
	torch := s.Versions.Torch
	if torch == "" {
		torch = setup.NewestTorch
	}
	v, err := allocator.ParseVersion(torch)
	if err != nil {
		return v, allocator.Options{}, err
	}
	if p := Profile(s); p != nil && s.Allocator == "" {
		return v, p.Options, nil
	}
	opt, err := allocator.ParseOptions(s.Allocator, v)
	return v, opt, err
}

// play plays the trace, with what is kept beside it there first.
func (r *run) play(al *allocator.Allocator, o allocator.PlayOptions) (allocator.Result, error) {
	if r.kept == 0 {
		return al.Play(r.trace, o)
	}
	_, err := al.Alloc(r.kept, 0)
	var oom *allocator.OutOfMemoryError
	if errors.As(err, &oom) {
		return allocator.Result{PeakAllocatedAt: -1, PeakReservedAt: -1, OOM: oom}, nil
	}
	if err != nil {
		return allocator.Result{}, err
	}
	return al.Play(r.trace, o)
}

// first is the run up to an event.
func (r *run) first(events int) *run {
	short := *r.trace
	short.Events = short.Events[:events]
	return &run{trace: &short, start: r.start, kept: r.kept}
}
