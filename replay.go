// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"context"
	"errors"
	"fmt"

	"snug/internal/allocator"
	"snug/internal/replay"
	"snug/internal/snapshot"
)

// ReplayOptions sets how a snapshot is replayed. The zero value replays it as recorded.
type ReplayOptions struct {
	// Torch is the version of PyTorch whose allocator is used; empty means the recorded one.
	Torch string
	// Allocator is a PYTORCH_CUDA_ALLOC_CONF string; nil means the recorded options.
	Allocator *string
	// Limit is the most memory that may be reserved; 0 means no limit.
	Limit Bytes
	// Device is the index of the GPU; nil means the busiest.
	Device *int
	// OwnAddresses uses addresses from a model of the driver instead of the recorded ones.
	OwnAddresses bool
	// Compare also replays with every allocator setting worth trying.
	Compare bool
}

// ReplayAnswer is the outcome of a replay. It marshals to the output of `snug replay --json`.
type ReplayAnswer struct {
	// Events is the number of allocations and frees that were replayed.
	Events int `json:"events"`
	// PeakAllocated is the most bytes in tensors.
	PeakAllocated Bytes `json:"peak_allocated"`
	// PeakReserved is the most bytes that PyTorch reserved.
	PeakReserved Bytes `json:"peak_reserved"`
	// Exact reports whether the replay allocated from the driver, and released, exactly what the recorded run did,
	// request by request. It is nil for a replay with other options or a limit, which cannot be compared with the
	// recording.
	Exact *bool `json:"exact,omitempty"`
	// Mismatch is the first difference.
	Mismatch string `json:"mismatch,omitempty"`
	// Fits reports whether the replay stayed within the limit; nil if there is none.
	Fits *bool `json:"fits,omitempty"`
	// OOM is where the replay ran out of memory; nil if it did not.
	OOM *ReplayOOM `json:"oom,omitempty"`
	// Compare has the outcomes with other settings, best first.
	Compare []ReplayOutcome `json:"compare,omitempty"`
}

// ReplayOOM is where a replay ran out of memory.
type ReplayOOM struct {
	Event   int    `json:"event"`   // the index of the request in the recording
	Message string `json:"message"` // in PyTorch's format
}

// ReplayOutcome is the outcome of a replay with one allocator setting.
type ReplayOutcome struct {
	Conf          string `json:"conf"`           // a PYTORCH_CUDA_ALLOC_CONF string; empty is the default
	PeakAllocated Bytes  `json:"peak_allocated"` // the most bytes in tensors
	PeakReserved  Bytes  `json:"peak_reserved"`  // the most bytes that PyTorch reserved
	Fits          *bool  `json:"fits,omitempty"` // whether it stayed within the limit; nil if there is none
}

// Replay plays a memory snapshot through the model of PyTorch's allocator. A snapshot is
// what torch.cuda.memory._dump_snapshot writes after
// torch.cuda.memory._record_memory_history, plain or gzip; nothing in it is executed.
func Replay(ctx context.Context, file string, o ReplayOptions, opts ...Option) (*ReplayAnswer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	rec, err := optionsOf(opts).snapshot(ctx, file)
	if err != nil {
		return nil, err
	}
	device, err := o.pick(rec)
	if err != nil {
		return nil, err
	}
	how := replay.Options{Torch: o.Torch, Conf: o.Allocator, Limit: uint64(o.Limit), Own: o.OwnAddresses, Stop: ctx.Err}
	if err := o.checkAllocator(rec); err != nil {
		return nil, err
	}
	result, err := replay.Run(rec, device, how)
	if err != nil {
		return nil, fmt.Errorf("replaying %s: %w", file, err)
	}
	out := o.answer(result)
	if o.Compare {
		outcomes, err := replay.Compare(rec, device, how)
		if err != nil {
			return nil, fmt.Errorf("replaying %s: %w", file, err)
		}
		for _, x := range outcomes {
			out.Compare = append(out.Compare, ReplayOutcome{x.Conf, Bytes(x.PeakAllocated), Bytes(x.PeakReserved), o.fits(x.Result)})
		}
	}
	return out, nil
}

// check validates the options that do not depend on a recording.
func (o *ReplayOptions) check() error {
	if o.Torch == "" {
		return nil
	}
	if _, err := allocator.ParseVersion(o.Torch); err != nil {
		return &FieldError{Field: "torch", Message: "torch: " + err.Error()}
	}
	return nil
}

// checkAllocator returns an error for options that the replay's PyTorch version does not have.
func (o *ReplayOptions) checkAllocator(rec *snapshot.Recording) error {
	version, err := replay.Version(rec, o.Torch)
	if err != nil || o.Allocator == nil {
		return err
	}
	if _, err := allocator.ParseOptions(*o.Allocator, version); err != nil {
		return &FieldError{Field: "allocator", Message: "allocator: " + err.Error()}
	}
	return nil
}

// pick returns the requested device, or the busiest.
func (o *ReplayOptions) pick(rec *snapshot.Recording) (*snapshot.Device, error) {
	d := rec.Busiest()
	if o.Device != nil {
		if d = rec.Device(*o.Device); d == nil {
			return nil, &FieldError{Field: "device", Message: fmt.Sprintf("device %d is not in the snapshot; omit device to use the busiest one", *o.Device)}
		}
	}
	if d.Entries == 0 {
		return nil, errors.New("the snapshot has no trace: record with torch.cuda.memory._record_memory_history() before the run")
	}
	return d, nil
}

// answer converts the result of a replay to an answer.
func (o *ReplayOptions) answer(r *replay.Result) *ReplayAnswer {
	out := &ReplayAnswer{
		Events: r.Events, PeakAllocated: Bytes(r.PeakAllocated), PeakReserved: Bytes(r.PeakReserved), Mismatch: r.Mismatch, Fits: o.fits(r),
	}
	if r.Checked {
		exact := r.Exact()
		out.Exact = &exact
	}
	if r.OOM != nil {
		out.OOM = &ReplayOOM{r.OOMAt, r.OOM.Error()}
	}
	return out
}

// fits reports whether the run fits; nil if there is no limit.
func (o *ReplayOptions) fits(r *replay.Result) *bool {
	if o.Limit == 0 {
		return nil
	}
	fits := r.OOM == nil
	return &fits
}
