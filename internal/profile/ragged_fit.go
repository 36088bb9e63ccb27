// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"

	"snug/internal/replay"
	"snug/internal/stream"
)

// raggedFitter makes a program from recordings whose steps differ.
type raggedFitter struct {
	*fitter
	notes      []*notes
	sections   [][]section
	table      *table
	explaining []monomial // products of changing quantities that may explain changing sizes
	families   *families
	members    map[int32]*family
	order      []int32 // the families, in order of first appearance
	sums       *sums
	chosen     []int
	abouts     map[string]*formula // cached results of about
}

// ragged returns a fitter for recordings whose steps differ, or nil if the steps are the same or the probe did not
// see the difference.
func (f *fitter) ragged() *raggedFitter {
	r := &raggedFitter{fitter: f, abouts: map[string]*formula{}}
	var steps [][]map[string]int64
	for k, in := range f.inputs {
		n := readNotes(in.Recording.Probe)
		if n == nil || f.devices[k].Times == nil {
			return nil
		}
		s := n.steps()
		if s == nil {
			return nil
		}
		r.notes, steps = append(r.notes, n), append(steps, s)
	}
	if !varies(steps) {
		return nil
	}
	r.tabulate(steps)
	return r
}

// tabulate numbers the steps of all recordings and makes the table of their columns.
func (r *raggedFitter) tabulate(steps [][]map[string]int64) {
	var rows []map[string]int64
	var at [][]int64
	for k := range r.inputs {
		sections := cut(r.devices[k], r.notes[k])
		for s := range sections {
			sections[s].point = len(rows) + max(s-1, 0)
		}
		r.sections = append(r.sections, sections)
		endSpans(r.lives[k], sections)
		for _, row := range steps[k] {
			rows, at = append(rows, row), append(at, r.points[k])
		}
	}
	r.table = newTable(r.program.Names, at, rows)
	few := min(len(r.table.run)+len(r.table.candidates), 6)
	r.explaining = monomials(few)[1:]
}

// fit makes the program.
func (r *raggedFitter) fit() {
	if len(r.table.candidates) == 0 {
		return
	}
	r.alignSections()
	r.gather()
	r.chosen = r.choose()
	r.sums, r.rules = r.solver(r.chosen), r.program.rules()
	p := r.program
	p.monos = r.sums.monos
	p.ragged = &ragged{}
	for _, c := range r.chosen {
		p.ragged.quantities = append(p.ragged.quantities, r.table.candidates[c])
	}
	for k := range r.inputs {
		r.write(k)
	}
	p.ragged.data = r.data()
}

// gather lists the sizes of each family.
func (r *raggedFitter) gather() {
	r.members = map[int32]*family{}
	for k, sections := range r.sections {
		for s := range sections {
			for id := sections[s].first; id < sections[s].next; id++ {
				root := r.families.of(k, id)
				m := r.members[root]
				if m == nil {
					m = &family{}
					r.members[root] = m
					r.order = append(r.order, root)
				}
				m.add(observation{sections[s].point, r.lives[k][id].size})
			}
		}
	}
}

func (m *family) add(o observation) {
	for _, x := range m.obs {
		if x.recording == o.recording {
			m.odd = m.odd || x.size != o.size
			return
		}
	}
	m.obs = append(m.obs, o)
}

// write creates the variant of recording k.
func (r *raggedFitter) write(k int) {
	d, sections := r.devices[k], r.sections[k]
	last := sections[len(sections)-1]
	w := &writer{
		f: r.fitter, ragged: r, k: k, events: d.Trace.Events[:last.event+last.events], made: d.Trace.Allocations(),
		base: make([]*formula, d.Trace.Allocations()),
	}
	for id := sections[0].first; id < last.next; id++ {
		w.base[id] = r.formula(k, id)
	}
	for i := range w.events {
		w.sumAt(i) // to find the element size
	}
	begins := make([]int, len(sections))
	for s := range sections {
		begins[s] = len(w.out)
		for i := sections[s].event; i < sections[s].event+sections[s].events; i++ {
			w.add(i)
		}
	}
	v := variant{at: r.points[k], queues: d.Trace.Queues, start: replay.Start(d), before: d.Trace.Initial, events: w.out, made: w.made}
	r.place(k, v, begins[1:])
}

// place adds a variant to the program, with the start of each step.
func (r *raggedFitter) place(k int, v variant, begins []int) {
	names := v.order()
	v.inOrder()
	v.made = v.before // omit allocations after the last step
	for i := range v.events {
		if v.events[i].kind == stream.Alloc {
			v.made++
		}
	}
	rg := r.program.ragged
	var steps []recordedStep
	for s, begin := range begins {
		steps = append(steps, recordedStep{begin, r.stepValues(r.sections[k][s+1].point)})
	}
	first, _ := lastStep(&v, begins[len(begins)-1])
	carried := map[uint32]int{}
	for id, counterpart := range r.carriedOver(k) {
		carried[names[id]] = int(names[counterpart] - first)
	}
	rg.steps, rg.carried = append(rg.steps, steps), append(rg.carried, carried)
	r.program.variants = append(r.program.variants, v)
}

// pointAt returns the point (the number of the step) that contains an event of recording k.
func (r *raggedFitter) pointAt(k, event int) int {
	point := r.sections[k][0].point
	for _, s := range r.sections[k] {
		if event >= s.event {
			point = s.point
		}
	}
	return point
}

// stepValues returns the chosen quantities at a point.
func (r *raggedFitter) stepValues(point int) []int64 {
	var out []int64
	for _, c := range r.chosen {
		out = append(out, r.table.values[point][len(r.table.run)+c])
	}
	return out
}

// formula returns the formula of an allocation's family.
func (r *raggedFitter) formula(k int, id uint32) *formula {
	m := r.members[r.families.of(k, id)]
	obs := m.obs
	if len(obs) == 1 {
		return r.sums.alone(obs[0])
	}
	if !m.odd {
		if f := r.sums.solve(obs, maxTerms); f != nil {
			return f
		}
		if f := r.about(obs); f != nil {
			return f
		}
	}
	return r.sums.nearest(obs, batchAmong(r.table.run))
}

// about returns a sum that gives the sizes to within a block, and caches it.
func (r *raggedFitter) about(obs []observation) *formula {
	key := textOf(obs)
	f, ok := r.abouts[key]
	if !ok {
		f = r.sums.about(obs)
		r.abouts[key] = f
	}
	return f
}

// carriedOver returns the allocations of the last step but one that the last step frees, each with its counterpart in
// the last step.
func (r *raggedFitter) carriedOver(k int) map[uint32]uint32 {
	sections := r.sections[k]
	last, before := sections[len(sections)-1], sections[len(sections)-2]
	counterpart := map[int32]uint32{}
	for id := last.next; id > last.first; id-- {
		counterpart[r.families.of(k, id-1)] = id - 1
	}
	out := map[uint32]uint32{}
	for _, e := range r.devices[k].Trace.Events[last.event : last.event+last.events] {
		if e.Kind != stream.Free && e.Kind != stream.FreeRequested || e.ID < before.first || e.ID >= before.next {
			continue
		}
		if id, ok := counterpart[r.families.of(k, e.ID)]; ok {
			out[e.ID] = id
		}
	}
	return out
}

// alone returns the formula for a size that was seen only once: a multiple of the largest product that divides it.
func (s *sums) alone(o observation) *formula {
	for mono := len(s.monos) - 1; mono > 0; mono-- {
		if v := s.values[o.recording][mono]; s.monos[mono].degree() <= 2 && s.monos[mono].flat() && v > 1 && o.size%uint64(v) == 0 {
			return &formula{terms: []term{{int64(o.size / uint64(v)), uint8(mono)}}, certainty: Fitted}
		}
	}
	return &formula{terms: []term{{int64(o.size), 0}}, certainty: Fitted}
}

// textOf returns a key for observations.
func textOf(obs []observation) string {
	var key []byte
	for _, o := range obs {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(o.recording)), o.size)
	}
	return string(key)
}
