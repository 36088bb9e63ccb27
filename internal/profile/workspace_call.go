// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/kernel"
	"snug/internal/stream"
)

// call is what the stream reveals about the call that a workspace belongs to.
type call struct {
	output   *formula // the tensor that the call computes
	input    *formula // for a weight gradient: the input gradient, computed before it
	incoming *formula // for a weight gradient: the tensor freed after it
	sibling  *formula // for a weight gradient: the workspace of the input gradient
}

func (w *writer) call(i int) call {
	c := call{output: w.base[w.events[i-1].ID]}
	if !c.output.constant() {
		return c
	}
	j := i - 2
	if j >= 1 && w.moment(j-1) {
		c.sibling = w.base[w.events[j-1].ID]
		j -= 2
	}
	if j >= 0 && w.events[j].Kind == stream.Alloc {
		c.input = growingOnly(w.base[w.events[j].ID])
	}
	if i+2 < len(w.events) && w.events[i+2].Kind == stream.Free {
		c.incoming = growingOnly(w.base[w.events[i+2].ID])
	}
	return c
}

func growingOnly(f *formula) *formula {
	if f == nil || f.constant() || f.sum != nil {
		return nil
	}
	return f
}

// first returns the formula for the weight gradient of the first layer, whose input has no gradient; nil for other
// workspaces. That layer copies the same tensors as its forward, and its partial sums may be twice those of a small
// batch.
func (w *writer) first(c call, obs []observation) *formula {
	if c.input != nil || c.incoming == nil || !c.output.constant() {
		return nil
	}
	copies := w.copiedFor(c.incoming)
	rest := int64(0)
	for _, o := range obs {
		part := evaluate(copies, w.f.program.at(w.f.points[o.recording]))
		if part == 0 || part > float64(o.size) {
			return nil
		}
		rest = max(rest, int64(float64(o.size)-part))
	}
	return &formula{
		terms: append(scaled(c.incoming.growing(), 0.5, rest), copies...),
		most:  append([]term{{max(rest, min(2*rest, int64(kernel.MaxConvPartials))), 0}}, copies...),
		seen:  obs, certainty: Bounded,
	}
}

// copiedFor returns the growing part of the first workspace after an output of the given size.
func (w *writer) copiedFor(output *formula) []term {
	for i := range w.events {
		if w.workspace(i) && slices.Equal(w.base[w.events[i-1].ID].terms, output.terms) {
			return w.base[w.events[i].ID].growing()
		}
	}
	return nil
}

// steep reports whether a workspace grew faster than copies of all tensors would, so that its growth cannot continue.
func (w *writer) steep(c call, f *formula) bool {
	if c.input == nil || c.incoming == nil {
		return false
	}
	return w.exceeds(f.growing(), w.copies(c, 0))
}

// partly returns the terms of copies of all tensors, for a kernel that needed less or more than that in the small
// recorded batches. Larger batches are assumed to copy all tensors. It returns nil for other workspaces. The backward
// shows which input belongs to an output.
func (w *writer) partly(c call, f *formula, obs []observation) []term {
	out := single(c.output)
	if out == nil {
		return nil
	}
	var partial, largest []term
	steep := f.certainty != Exact
	for _, k := range w.seenConvs() {
		if k.out != *out && k.in != *out || k.in.mono != k.out.mono {
			continue
		}
		all := []term{{k.weight, 0}, {k.in.coef + k.out.coef, k.out.mono}}
		if w.explains(obs, all) {
			return nil
		}
		if w.explains(obs, []term{{k.weight, 0}, k.out}) || w.explains(obs, []term{{k.weight, 0}, k.in}) {
			partial = all
		}
		steep = steep && w.exceeds(f.growing(), all[1:])
		if largest == nil || all[1].coef > largest[1].coef {
			largest = all
		}
	}
	if partial == nil && steep {
		return largest
	}
	return partial
}

// exceeds reports whether terms are clearly more than copies take.
func (w *writer) exceeds(terms, copies []term) bool {
	monos := w.f.program.at(w.f.points[w.k])
	return evaluate(terms, monos) > 1.02*evaluate(copies, monos)
}

// explains reports whether terms give the observed sizes to within a few bytes.
func (w *writer) explains(obs []observation, terms []term) bool {
	for _, o := range obs {
		if d := float64(o.size) - evaluate(terms, w.f.program.at(w.f.points[o.recording])); d < 0 || d > tinyBytes {
			return false
		}
	}
	return true
}

// seenConv is a convolution as found in its backward.
type seenConv struct {
	in, out term
	weight  int64
}

// seenConvs returns the convolutions of the recording, each once.
func (w *writer) seenConvs() []seenConv {
	if w.convs != nil {
		return w.convs
	}
	w.convs = []seenConv{}
	for i := range w.events {
		if !w.workspace(i) || !w.base[w.events[i-1].ID].constant() {
			continue
		}
		c := w.call(i)
		in, out := single(c.input), single(c.incoming)
		if in == nil || out == nil {
			continue
		}
		if k := (seenConv{*in, *out, c.output.terms[0].coef}); !slices.Contains(w.convs, k) {
			w.convs = append(w.convs, k)
		}
	}
	return w.convs
}
