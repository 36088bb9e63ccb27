// SPDX-License-Identifier: Apache-2.0

// Package replay plays a recording through the allocator: with the recorded options, to check that the
// model does what the real allocator did, and with other options or on a smaller card, to see what would
// have happened.
package replay

import (
	"errors"
	"fmt"

	"snug/internal/allocator"
	"snug/internal/snapshot"
)

// Options set how to play. The zero value plays the recording as it was.
type Options struct {
	Torch   string  // "" means the recorded version
	Conf    *string // a PYTORCH_CUDA_ALLOC_CONF string instead of the recorded options
	Limit   uint64  // limit on reserved bytes; 0 means none
	Own     bool    // use our own addresses instead of the recorded ones
	Samples int     // length of Result.Timeline

	Stop func() error // called from time to time; its error ends the replay; may be nil
}

// recorded reports whether the options leave the recorded addresses valid.
func (o Options) recorded() bool { return o.Conf == nil && o.Limit == 0 && !o.Own }

// Sample is the highest memory during a stretch of events.
type Sample struct {
	Allocated uint64 // bytes in allocated blocks
	Reserved  uint64 // bytes reserved on the device
}

// Result is the outcome of a replay.
type Result struct {
	allocator.Result
	Torch    allocator.Version // the release whose rules were used
	Checked  bool              // whether the recorded segment events could be compared
	Mismatch string            // the first difference
	Start    Sample            // memory before the first event
	Timeline []Sample          // the highest memory in each interval
	AtPeak   Sample            // memory at the event with the highest reserved memory
}

// Exact reports whether the replay allocated from the driver, and released, exactly what the real run did, request by
// request.
func (r *Result) Exact() bool { return r.Checked && r.Mismatch == "" }

// cardBytes is the size of an unknown card: larger than any, and a power of two so that a limit is an exact fraction
// of it.
const cardBytes = 1 << 40

// Run plays one device of a recording.
func Run(rec *snapshot.Recording, d *snapshot.Device, o Options) (*Result, error) {
	version, opt, err := settings(rec, d, o)
	if err != nil {
		return nil, err
	}
	if o.Limit >= cardBytes {
		o.Limit = 0
	}
	driver := newDriver(d, o)
	a, err := allocator.New(driver, version, opt)
	if err != nil {
		return nil, err
	}
	if err := a.Restore(Start(d)); err != nil {
		return nil, err
	}
	if o.Limit > 0 {
		if err := a.SetMemoryFraction(float64(o.Limit) / cardBytes); err != nil {
			return nil, err
		}
	}
	return play(a, d, driver, version, o)
}

func play(a *allocator.Allocator, d *snapshot.Device, driver allocator.Device, version allocator.Version, o Options) (*Result, error) {
	out := &Result{Torch: version, Start: Sample{a.Allocated(), a.Reserved()}}
	out.AtPeak = out.Start
	follow, _ := driver.(*follower)
	line := newTimeline(o.Samples, len(d.Trace.Events), out.Start)
	peak := a.Reserved()
	played, err := a.Play(d.Trace, allocator.PlayOptions{Stop: o.Stop, Observe: func(i int) {
		now := Sample{a.Allocated(), a.Reserved()}
		line.add(i, now)
		if now.Reserved > peak {
			peak, out.AtPeak = now.Reserved, now
		}
		if follow != nil {
			follow.now = i + 1
		}
	}})
	if err != nil {
		return nil, err
	}
	out.Result, out.Timeline = played, line.samples
	if played.OOM != nil {
		asCard(played.OOM, o.Limit)
	}
	if follow != nil {
		out.Checked, out.Mismatch = true, follow.verdict(played)
	}
	return out, nil
}

// asCard rewrites an out-of-memory error for a card as large as the limit, because a recording does not contain the
// real card's size.
func asCard(oom *allocator.OutOfMemoryError, limit uint64) {
	if limit == 0 {
		return
	}
	oom.Total, oom.Free = limit, 0
	if limit > oom.Reserved {
		oom.Free = limit - oom.Reserved
	}
}

// Start returns the state at the start of the recording. Allocations have IDs in address order.
func Start(d *snapshot.Device) []allocator.SegmentState {
	var out []allocator.SegmentState
	id := uint32(0)
	for _, s := range d.Start {
		state := allocator.SegmentState{
			Address: s.Addr, Size: s.Size, Stream: s.Stream, Small: s.Small, Expandable: s.Expandable,
			Pool: allocator.PoolID{A: uint64(s.Pool[0]), B: uint64(s.Pool[1])},
		}
		for _, b := range s.Blocks {
			block := allocator.BlockState{Size: b.Size, Requested: b.Requested, ID: allocator.NoID}
			if b.State != snapshot.Inactive {
				block.Use, block.ID = allocator.ActiveAllocated, id
				id++
			}
			if b.State == snapshot.PendingFree {
				block.Use = allocator.ActivePending
			}
			state.Blocks = append(state.Blocks, block)
		}
		out = append(out, state)
	}
	return out
}

// settings returns the version and the options to play with.
func settings(rec *snapshot.Recording, d *snapshot.Device, o Options) (allocator.Version, allocator.Options, error) {
	version, err := Version(rec, o.Torch)
	if err != nil {
		return version, allocator.Options{}, err
	}
	if o.Conf != nil {
		opt, err := allocator.ParseOptions(*o.Conf, version)
		return version, opt, err
	}
	opt, err := recordedOptions(rec.Settings, version)
	if !rec.Settings.Known {
		opt.Expandable = expandableSeen(d)
	}
	return version, opt, err
}

// Settings returns the PyTorch version and the allocator options of a recording.
func Settings(rec *snapshot.Recording, d *snapshot.Device) (allocator.Version, allocator.Options, error) {
	return settings(rec, d, Options{})
}

// Version returns the named PyTorch version, or else the recorded one.
func Version(rec *snapshot.Recording, named string) (allocator.Version, error) {
	if named != "" {
		return allocator.ParseVersion(named)
	}
	if rec.Torch == "2.0" { // the allocator of 2.0 is 2.1's without expandable segments
		return allocator.Oldest, nil
	}
	return allocator.ParseVersion(rec.Torch)
}

func expandableSeen(d *snapshot.Device) bool {
	for _, e := range d.SegmentEvents {
		if e.Kind == snapshot.SegmentMap {
			return true
		}
	}
	return false
}

// recordedOptions returns the options in the option string, if it can be parsed, combined with the other values,
// which include options set at run time.
func recordedOptions(s snapshot.Settings, v allocator.Version) (allocator.Options, error) {
	opt, err := allocator.ParseOptions(s.Conf, v)
	if err != nil {
		opt = allocator.DefaultOptions()
	}
	if !s.Known {
		return opt, nil
	}
	opt.Expandable, opt.GCThreshold = s.ExpandableSegments, s.GCThreshold
	if s.MaxSplitSize > 0 {
		opt.MaxSplitSize = uint64(s.MaxSplitSize)
	}
	for i := range opt.Divisions {
		opt.Divisions[i] = uint64(s.RoundupDivisions[fmt.Sprint(1<<i)])
	}
	if opt.GCThreshold < 0 || opt.GCThreshold >= 1 {
		return opt, errors.New("the recorded garbage_collection_threshold is not between 0 and 1")
	}
	return opt, nil
}
