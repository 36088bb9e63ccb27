// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"math"

	"snug/internal/stream"
)

// workspace reports whether event i allocates a kernel's workspace: memory that the next event frees, allocated right
// after another allocation, the kernel's output.
func (w *writer) workspace(i int) bool {
	return w.moment(i) && i > 0 && w.events[i-1].Kind == stream.Alloc
}

// moment reports whether the event after i frees what event i allocates.
func (w *writer) moment(i int) bool {
	return i+1 < len(w.events) && w.events[i].Kind == stream.Alloc &&
		w.events[i+1].Kind == stream.Free && w.events[i+1].ID == w.events[i].ID
}

// workspaceFormula returns the formula of the workspace at event i. cuDNN chooses a kernel by shape and the kernel
// determines its workspace, so no formula gives the size; but the contents are known:
//
//   - copies of input, weight and output in the layout that the kernel needs; the first and the last
//     are proportional to the batch;
//   - for the gradient of a weight, partial sums: one for each image, or a number that depends on the
//     card and not on the batch.
//
// So if two recordings explain a workspace as a constant and a growing part, that formula is used. A workspace that
// grew faster, or shrank, changed its kernel; then the growing part is the size of the copies of the call's tensors,
// and the rest is constant. Once copies take less memory than one sum per image, those sums are no longer used.
func (w *writer) workspaceFormula(i int) *formula {
	c := w.call(i)
	f := w.base[w.events[i].ID]
	obs := w.f.observations(w.k, w.events[i].ID)
	switch {
	case f.certainty == Exact && w.perImage(c, f):
		return &formula{terms: f.terms, most: w.copies(c, w.partials(i)), certainty: Bounded}
	case f.certainty == Exact, w.tiny(obs):
		return f
	case w.first(c, obs) != nil:
		return w.first(c, obs)
	case w.partly(c, f, obs) != nil:
		return &formula{terms: w.partly(c, f, obs), seen: obs, certainty: Bounded}
	case w.steep(c, f):
		return w.withPartials(i, c, w.copies(c, c.output.terms[0].coef), obs, Bounded)
	case f.certainty == Fitted && len(f.terms) == 2 && f.terms[0].mono == 0 && f.terms[0].coef >= 0:
		return w.withPartials(i, c, f.terms, obs, Fitted)
	}
	return w.withPartials(i, c, w.grown(c, obs), obs, Bounded)
}

// withPartials adds the partial sums of a weight gradient, which small batches do not need. They grow with the work,
// up to a share for each multiprocessor.
func (w *writer) withPartials(i int, c call, terms []term, obs []observation, how Certainty) *formula {
	f := &formula{terms: terms, seen: obs, certainty: how}
	if c.incoming == nil || len(terms) == 0 || terms[0].mono == 0 && terms[0].coef > c.output.terms[0].coef+tinyBytes {
		return f
	}
	f.most = append([]term{{w.partials(i), 0}}, terms...)
	f.terms = append(scaled(c.incoming.growing(), 0.5, 0), terms...)
	f.certainty = Bounded
	return f
}

// partials returns the largest size of a weight gradient's partial sums.
func (w *writer) partials(i int) int64 {
	weight := w.base[w.events[i-1].ID].terms[0].coef
	if w.castLater(i, 2*weight) {
		weight *= 2
	}
	return int64(w.f.rules.ConvPartials(uint64(weight)))
}

// castLater reports whether a copy twice as large as a weight gradient is allocated soon after it, which means that
// the gradient was 16-bit.
func (w *writer) castLater(i int, size int64) bool {
	for _, e := range w.events[i:min(i+6, len(w.events))] {
		if e.Kind == stream.Alloc && e.Size == uint64(size) {
			return true
		}
	}
	return false
}

// tinyBytes is the size of a workspace that has only a few numbers and no copies.
const tinyBytes = 4096

func (w *writer) tiny(obs []observation) bool {
	for _, o := range obs {
		if o.size > tinyBytes {
			return false
		}
	}
	return true
}

// perImage reports whether a workspace is one float32 sum for each image.
func (w *writer) perImage(c call, f *formula) bool {
	if !c.output.constant() || c.input == nil || c.incoming == nil || len(f.terms) != 1 || f.constant() {
		return false
	}
	weight := c.output.terms[0].coef
	return f.terms[0].coef == weight || f.terms[0].coef == 2*weight
}

// copies returns the terms of a copy of input and output.
func (w *writer) copies(c call, more int64) []term {
	out := scaled(c.input.growing(), 1, more)
	return append(out, c.incoming.growing()...)
}

// grown returns the terms of a workspace whose kernel changed between the recordings.
func (w *writer) grown(c call, obs []observation) []term {
	last := obs[len(obs)-1]
	monos := w.f.program.at(w.f.points[last.recording])
	size := float64(last.size)
	var tries [][]term
	if c.sibling != nil {
		tries = append(tries, c.sibling.growing())
	}
	if c.input != nil && c.incoming != nil {
		tries = append(tries, w.copies(c, 0), c.input.growing(), c.incoming.growing())
	}
	if steady := w.steady(c, obs); steady != nil {
		tries = append(tries, steady)
	}
	for _, t := range tries {
		if part := evaluate(t, monos); part > 0 && part <= size {
			return scaled(t, 1, int64(size-part))
		}
	}
	return w.f.solver.bound(obs).terms
}

// steady returns the growth between the last two recordings, as a share of the call's output.
func (w *writer) steady(c call, obs []observation) []term {
	if len(obs) < 2 || c.output.constant() {
		return nil
	}
	a, b := obs[len(obs)-2], obs[len(obs)-1]
	before := evaluate(c.output.terms, w.f.program.at(w.f.points[a.recording]))
	after := evaluate(c.output.terms, w.f.program.at(w.f.points[b.recording]))
	share := (float64(b.size) - float64(a.size)) / (after - before)
	if share <= 0 || math.IsInf(share, 0) || math.IsNaN(share) {
		return nil
	}
	return scaled(c.output.growing(), share, 0)
}
