// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"
	"strings"

	"snug/internal/kernel"
	"snug/internal/snapshot"
	"snug/internal/stream"
)

// forwardOf looks for the output of a known convolution at event i. A convolution without a workspace is
// recognized by its stack, or by the weight cast right before it.
func (w *writer) forwardOf(i int, known []conv, named bool) {
	if w.events[i].Kind != stream.Alloc || w.moment(i) || w.found.extra[i] != nil {
		return
	}
	if w.moment(i+1) && w.found.there[w.events[i+1].ID] != nil {
		return // this is not the output, but an input gradient of the same size
	}
	out := single(w.base[w.events[i].ID])
	if out == nil {
		return
	}
	if c := w.which(i, *out, known); c != nil && (named || w.cast(i, *c) == theirs || w.moment(i+1)) {
		w.take(*c, kernel.FProp, i)
	}
}

// which returns the convolution whose output event i allocates, or nil. It is the one whose weight was cast for the
// call, or the only candidate; candidates with equal workspaces count as one. A measured convolution, or one that
// explains the recorded workspace exactly, is preferred to a guess.
func (w *writer) which(i int, out term, known []conv) *conv {
	var best *conv
	var points kernel.ConvWorkspace
	most, several := 0, false
	for k := range known {
		c := &known[k]
		if c.mono != out.mono || int64(c.shape.Sizes().Out)*c.element != out.coef {
			continue
		}
		f := w.measured(*c, kernel.FProp, i)
		rank := w.rank(i, *c)
		if f == nil || rank < most || rank == 0 {
			continue
		}
		several = rank == most && best != nil && (several || !slices.Equal(points, f.measured.points))
		best, points, most = c, f.measured.points, rank
	}
	if several && most&theirWeight == 0 {
		return nil
	}
	return best
}

// theirWeight is the rank bit of a convolution whose weight was cast for the call.
const theirWeight = 4

// rank returns how likely c is to be the convolution at event i; 0 means impossible.
func (w *writer) rank(i int, c conv) int {
	rank := 1
	if !c.guess || w.explained(c, kernel.FProp, i) {
		rank = 2
	}
	switch w.cast(i, c) {
	case theirs:
		return rank | theirWeight
	case another:
		return 0
	}
	return rank
}

// cast says which weight was cast for a call.
type cast int

const (
	nothing cast = iota // none seen
	theirs              // the convolution's own weight
	another             // some other weight
)

// cast returns which weight is allocated right before event i: autocast copies weight, input and bias to the
// precision that the call runs in.
func (w *writer) cast(i int, c conv) cast {
	got := nothing
	for j := i - 1; j >= max(i-3, 0) && w.events[j].Kind == stream.Alloc && w.sameCall(j, i); j-- {
		switch f := w.base[w.events[j].ID]; {
		case w.events[j].Size == uint64(int64(c.shape.Sizes().Weight)*c.element):
			return theirs
		case f.constant() && w.stacks != nil:
			got = another
		}
	}
	return got
}

// sameCall reports whether two events come from the same line of code. Without stacks, only adjacent events do.
func (w *writer) sameCall(j, i int) bool {
	if w.stacks == nil {
		return j == i-1
	}
	return w.stacks[j] == w.stacks[i]
}

// convKey is a key of the table of measured convolutions.
type convKey struct {
	shape   kernel.ConvShape
	kind    kernel.ConvKind
	element int
	half    bool
}

// row returns the measured workspaces for a key, and caches them.
func (f *fitter) row(k convKey) kernel.ConvWorkspace {
	row, ok := f.convs[k]
	if !ok {
		row = k.shape.Workspace(k.kind, k.element, k.half)
		f.convs[k] = row
	}
	return row
}

// shapes returns the measured convolutions with the given sizes, and caches them.
func (f *fitter) shapes(s kernel.ConvSizes) []kernel.ConvShape {
	shapes, ok := f.sizes[s]
	if !ok && !f.strange {
		shapes = kernel.MeasuredConvs(s)
		f.sizes[s] = shapes
	}
	return shapes
}

// agrees reports whether the measured workspaces equal the recorded ones.
func (f *fitter) agrees(row kernel.ConvWorkspace, quantity int, obs []observation) bool {
	for _, o := range obs {
		if row.At(int(f.points[o.recording][quantity])) != o.size {
			return false
		}
	}
	return true
}

// convStacks reports for each stack whether it ends in a convolution.
func convStacks(rec *snapshot.Recording) []bool {
	out := make([]bool, len(rec.Stacks))
	for i, stack := range rec.Stacks {
		out[i] = len(stack) > 0 && strings.Contains(strings.ToLower(rec.Frames[stack[0]].Name), "conv")
	}
	return out
}
