// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"context"
	"fmt"
	"io"
	"slices"

	"snug/internal/profile"
	"snug/internal/snapshot"
)

// Size gives the value of each quantity of a training step: {"batch": 8, "seq": 512}.
type Size map[string]int

// Prediction is the memory that a training step takes at a size. It marshals to the output of `snug predict --json`.
type Prediction struct {
	At            Size  `json:"at"`             // the size
	PeakAllocated Bytes `json:"peak_allocated"` // the most bytes in tensors
	PeakReserved  Bytes `json:"peak_reserved"`  // the most bytes that PyTorch reserves
}

// Profile is a training step as a function of its sizes, made from recordings at two or more sizes. It is safe for
// concurrent use.
type Profile struct{ program *profile.Program }

// Recording is a memory snapshot of a training step, as torch.cuda.memory._dump_snapshot writes it, plain or gzip,
// with the size of the step.
type Recording struct {
	File string // the path of the snapshot
	At   Size   // the size of the recorded step
}

// Predict returns the memory that a recorded training step takes at a size. The file is a profile, made by `snug
// profile` or [Profile.Write]. To predict many sizes, call [ReadProfile] once.
func Predict(ctx context.Context, file string, at Size, opts ...Option) (*Prediction, error) {
	p, err := ReadProfile(ctx, file, opts...)
	if err != nil {
		return nil, err
	}
	return p.Predict(ctx, at)
}

// ReadProfile reads a profile file.
func ReadProfile(ctx context.Context, file string, opts ...Option) (*Profile, error) {
	f, err := optionsOf(opts).opened(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := profile.Read(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return &Profile{p}, nil
}

// FitProfile makes a profile from recordings of the same training step at two or more
// sizes.
func FitProfile(ctx context.Context, recordings []Recording, opts ...Option) (*Profile, error) {
	o := optionsOf(opts)
	var inputs []profile.Input
	for _, r := range recordings {
		at, err := r.At.point()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.File, err)
		}
		rec, err := o.snapshot(ctx, r.File)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, profile.Input{Name: r.File, At: at, Recording: rec})
	}
	p, err := profile.Fit(inputs)
	if err != nil {
		return nil, public(err)
	}
	return &Profile{p}, ctx.Err()
}

// Predict returns the memory that the step takes at a size. The size must name each of the [Profile.Quantities].
func (p *Profile) Predict(ctx context.Context, at Size) (*Prediction, error) {
	point, err := at.point()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	got, err := p.program.Predict(point)
	if err != nil { // the error is always about the size, because the profile was checked when it was read
		return nil, &FieldError{Field: "at", Message: err.Error(), kind: kindOf(err)}
	}
	return &Prediction{At: at, PeakAllocated: Bytes(got.PeakAllocated), PeakReserved: Bytes(got.PeakReserved)}, nil
}

// Quantities returns the names of the quantities that vary between the recordings, such as "batch".
func (p *Profile) Quantities() []string { return slices.Clone(p.program.Names) }

// Torch returns the version of PyTorch that the step was recorded with, such as "2.11".
func (p *Profile) Torch() string { return p.program.Torch.String() }

// Write writes the profile in the file format that [ReadProfile] and Model.Profile read.
func (p *Profile) Write(w io.Writer) error { return p.program.Write(w) }

// point converts the size to the form that profiles use.
func (s Size) point() (profile.Point, error) {
	out := profile.Point{}
	for name, n := range s {
		out[name] = int64(n)
	}
	if _, err := profile.ParsePoint(out.String()); err != nil {
		return nil, &FieldError{Field: "at", Message: "at: " + err.Error()}
	}
	return out, nil
}

// snapshot reads a recorded memory snapshot.
func (o *options) snapshot(ctx context.Context, file string) (*snapshot.Recording, error) {
	f, err := o.opened(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rec, err := snapshot.Read(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return rec, nil
}
