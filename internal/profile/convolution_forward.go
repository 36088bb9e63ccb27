// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"strings"

	"snug/internal/shadow"
	"snug/internal/snapshot"
	"snug/internal/stream"
)

// forwardOf looks for the output of a known convolution at event i. One without
// a workspace is known by its stack, or by the weight cast right before it.
func (w *writer) forwardOf(i int, known []conv, named bool) {
	if w.events[i].Kind != stream.Alloc || w.moment(i) || w.found.extra[i] != nil {
		return
	}
	if w.moment(i+1) && w.found.there[w.events[i+1].ID] != nil {
		return // the gradient of an input, of the same size
	}
	out := single(w.base[w.events[i].ID])
	if out == nil {
		return
	}
	if c := w.which(i, *out, known); c != nil && (named || w.castBefore(i, *c) || w.moment(i+1)) {
		w.take(*c, "fprop", i)
	}
}

// which is the convolution whose output event i allocates: the one whose weight
// was cast for it, or the only one that it can be.
func (w *writer) which(i int, out term, known []conv) *conv {
	var only *conv
	several := false
	for k := range known {
		c := &known[k]
		if c.mono != out.mono || int64(c.sizes.Out)*c.element != out.coef || w.measured(*c, "fprop", i) == nil {
			continue
		}
		if w.castBefore(i, *c) {
			return c
		}
		several = several || only != nil && *only != *c
		only = c
	}
	if several {
		return nil
	}
	return only
}

// castBefore says whether the event before i allocates a copy of c's weight.
func (w *writer) castBefore(i int, c conv) bool {
	return i > 0 && w.events[i-1].Kind == stream.Alloc && w.events[i-1].Size == uint64(int64(c.sizes.Weight)*c.element)
}

// convKey is a question to the table of measured convolutions.
type convKey struct {
	kind    string
	element int
	half    bool
	sizes   shadow.ConvSizes
}

// rows asks the table once for each question.
func (f *fitter) rows(k convKey) []shadow.ConvWorkspace {
	rows, ok := f.convs[k]
	if !ok {
		rows = shadow.MeasuredConvs(k.kind, k.element, k.half, k.sizes)
		f.convs[k] = rows
	}
	return rows
}

// agrees says whether measured workspaces are those of the recordings.
func (f *fitter) agrees(row shadow.ConvWorkspace, quantity int, obs []observation) bool {
	for _, o := range obs {
		if row.At(int(f.points[o.recording][quantity])) != o.size {
			return false
		}
	}
	return true
}

// convStacks says which stacks end in a convolution.
func convStacks(rec *snapshot.Recording) []bool {
	out := make([]bool, len(rec.Stacks))
	for i, stack := range rec.Stacks {
		out[i] = len(stack) > 0 && strings.Contains(strings.ToLower(rec.Frames[stack[0]].Name), "conv")
	}
	return out
}
