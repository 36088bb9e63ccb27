// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/snapshot"
	"snug/internal/stream"
)

// section is a part of a recording: a step, or everything before the first step.
type section struct {
	event  int    // its first event
	first  uint32 // its first allocation
	next   uint32 // the first allocation after it
	point  int    // number of its step among all steps of all recordings; the part before the first step belongs to the first step
	events int    // number of events
}

// cut divides a recording at the ends of its steps. Events after the last step are dropped, because the run was
// stopped there.
func cut(d *snapshot.Device, n *notes) []section {
	ends := append([]int64{n.begin()}, n.Ends...)
	out := make([]section, len(ends))
	made, s := d.Trace.Initial, 0
	out[0].first = made
	for i := range d.Trace.Events {
		for s < len(ends) && d.Times[i] > ends[s] {
			out[s].next, out[s].events = made, i-out[s].event
			if s++; s < len(ends) {
				out[s].event, out[s].first = i, made
			}
		}
		if s == len(ends) {
			break
		}
		if d.Trace.Events[i].Kind == stream.Alloc {
			made++
		}
	}
	for ; s < len(ends); s++ { // close the last step, and any steps without events
		out[s].next, out[s].events = made, len(d.Trace.Events)-out[s].event
		if s+1 < len(ends) {
			out[s+1].event, out[s+1].first = len(d.Trace.Events), made
		}
	}
	return out
}

// begin returns when the first step began, as far as is known: when the model was first called, or when the loader
// returned the batch for that call.
func (n *notes) begin() int64 {
	t := n.Ends[0]
	for _, c := range slices.Concat(n.Calls, n.Batches) {
		t = min(t, c.Time)
	}
	return t
}

// family is a set of corresponding allocations in all steps of all recordings.
type family struct {
	obs []observation // by point, in order; the field recording holds the point
	odd bool          // includes two allocations of different sizes from one step, so the alignment is wrong
}

// families joins the allocations of aligned sections (a disjoint-set forest).
type families struct {
	offset []int // by recording: index of its first allocation
	parent []int32
}

func newFamilies(lives [][]lifetime) *families {
	f := &families{}
	n := 0
	for _, l := range lives {
		f.offset = append(f.offset, n)
		n += len(l)
	}
	f.parent = make([]int32, n)
	for i := range f.parent {
		f.parent[i] = int32(i)
	}
	return f
}

func (f *families) find(i int32) int32 {
	for f.parent[i] != i {
		f.parent[i] = f.parent[f.parent[i]]
		i = f.parent[i]
	}
	return i
}

// of returns the family of an allocation of a recording.
func (f *families) of(recording int, id uint32) int32 {
	return f.find(int32(f.offset[recording]) + int32(id))
}

func (f *families) join(a, b int32) {
	a, b = f.find(a), f.find(b)
	f.parent[max(a, b)] = min(a, b)
}

// place identifies a section of a recording.
type place struct{ recording, section int }

// alignSections aligns every step with the previous step, and with its counterpart in the previous recording.
func (r *raggedFitter) alignSections() {
	r.families = newFamilies(r.lives)
	for k, sections := range r.sections {
		for s := range sections {
			if s >= 2 {
				r.alignPair(place{k, s - 1}, place{k, s})
			}
			if k > 0 && s < len(r.sections[k-1]) {
				r.alignPair(place{k - 1, s}, place{k, s})
			}
		}
	}
}

func (r *raggedFitter) alignPair(from, to place) {
	a, b := &r.sections[from.recording][from.section], &r.sections[to.recording][to.section]
	la, lb := r.lives[from.recording][a.first:a.next], r.lives[to.recording][b.first:b.next]
	if !shareStacks(la, lb) {
		la, lb = withoutStacks(la), withoutStacks(lb)
	}
	for j, i := range align(la, lb, r.ratios(a.point, b.point)) {
		if i != none {
			r.families.join(int32(r.families.offset[from.recording])+int32(a.first)+i, int32(r.families.offset[to.recording])+int32(b.first)+int32(j))
		}
	}
}

// ratios lists the possible ratios of sizes between two steps.
func (r *raggedFitter) ratios(from, to int) []ratio {
	var out []ratio
	a, b := r.table.values[from], r.table.values[to]
	for _, m := range r.explaining {
		x := ratio{uint64(m.exact(b)), uint64(m.exact(a))}
		if x.num != x.den && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// endSpans treats every allocation that outlives its step as living forever: its lifetime depends on the next step,
// which is unknown for the last one.
func endSpans(lives []lifetime, sections []section) {
	for _, s := range sections {
		for id := s.first; id < s.next; id++ {
			if l := &lives[id]; l.span != forever && int64(id)+1+int64(l.span) > int64(s.next) {
				l.span = forever
			}
		}
	}
}
