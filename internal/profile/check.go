// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"snug/internal/replay"
)

// check returns an error for recordings that cannot be combined into a program, and records what they share.
// Recordings with implausible sizes are refused in likely.go.
func (f *fitter) check() error {
	if len(f.inputs) < 2 {
		return errors.New("a prediction needs recordings at two sizes or more: record a second one at another batch size")
	}
	for _, in := range f.inputs {
		if err := complete(in); err != nil {
			return err
		}
	}
	for _, c := range []func() error{f.checkTorch, f.checkCard, f.checkNames, f.checkDistinct} {
		if err := c(); err != nil {
			return err
		}
	}
	return f.checkIndependent()
}

// complete returns an error for a recording without a trace.
func complete(in Input) error {
	d := in.Recording.Busiest()
	if d == nil || d.Entries == 0 {
		return fmt.Errorf("%s has no trace: record with torch.cuda.memory._record_memory_history() before the run", in.Name)
	}
	if len(d.OOMs) > 0 {
		return fmt.Errorf("%s ran out of memory while it was recorded: record at a smaller size", in.Name)
	}
	return nil
}

// checkTorch requires one PyTorch release and one allocator configuration.
func (f *fitter) checkTorch() error {
	first := f.inputs[0]
	version, options, err := replay.Settings(first.Recording, first.Recording.Busiest())
	if err != nil {
		return fmt.Errorf("%s: %w", first.Name, err)
	}
	f.program.Torch, f.program.Options = version, options
	for _, in := range f.inputs[1:] {
		v, o, err := replay.Settings(in.Recording, in.Recording.Busiest())
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", in.Name, err)
		case v != version:
			return fmt.Errorf("%s is from PyTorch %v, but %s is from %v: record both with one version", first.Name, version, in.Name, v)
		case o != options:
			return fmt.Errorf("%s and %s were recorded under different PYTORCH_CUDA_ALLOC_CONF settings", first.Name, in.Name)
		}
	}
	return nil
}

// checkCard requires a single kind of card, because kernels differ between cards.
func (f *fitter) checkCard() error {
	first := f.inputs[0]
	for _, in := range f.inputs[1:] {
		if in.Card != first.Card {
			return fmt.Errorf("%s was recorded on %s, but %s on %s: record both on one card",
				first.Name, cmp.Or(first.Card, "an unknown card"), in.Name, cmp.Or(in.Card, "an unknown one"))
		}
	}
	f.program.Card = first.Card
	return nil
}

// checkNames separates the quantities that vary from those that do not.
func (f *fitter) checkNames() error {
	first := f.inputs[0]
	names := first.At.Names()
	for _, in := range f.inputs[1:] {
		if got := in.At.Names(); !slices.Equal(got, names) {
			return fmt.Errorf("%s gives %s, but %s gives %s: name the same quantities for every recording",
				first.Name, strings.Join(names, " and "), in.Name, strings.Join(got, " and "))
		}
	}
	f.program.Fixed = Point{}
	for _, name := range names {
		varies := slices.ContainsFunc(f.inputs, func(in Input) bool { return in.At[name] != first.At[name] })
		if varies {
			f.program.Names = append(f.program.Names, name)
		} else {
			f.program.Fixed[name] = first.At[name]
		}
	}
	if len(f.program.Names) > maxNames {
		return fmt.Errorf("%d quantities vary, but at most %d may", len(f.program.Names), maxNames)
	}
	return nil
}

// maxNames is the largest number of quantities that may vary. It limits the number of monomials.
const maxNames = 4

func (f *fitter) checkDistinct() error {
	for i, a := range f.inputs {
		for _, b := range f.inputs[:i] {
			if a.At.String() == b.At.String() {
				return fmt.Errorf("%s and %s were both recorded at %s: record at different sizes", b.Name, a.Name, a.At)
			}
		}
	}
	return nil
}

// checkIndependent returns an error if two quantities always changed together, because their effects cannot be
// separated.
func (f *fitter) checkIndependent() error {
	names, first := f.program.Names, f.inputs[0].At
	for i, a := range names {
		for _, b := range names[:i] {
			apart := slices.ContainsFunc(f.inputs, func(in Input) bool { return in.At[a]*first[b] != in.At[b]*first[a] })
			if !apart {
				return fmt.Errorf("%s and %s always change together in these recordings: record one in which only one of them changes", b, a)
			}
		}
	}
	return nil
}
