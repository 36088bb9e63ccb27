// SPDX-License-Identifier: Apache-2.0

package loops

import "sort"

// owners records the places of the copies of an allocation in a loop. Consecutive copies are usually also
// neighbors in a segment, so they are stored as runs.
type owners struct {
	runs []run // in the order of allocation
	down bool  // the last copy is allocated first
	last int   // index of the most recently found run
}

// run is a sequence of copies [from, from+n) of an allocation in one segment, evenly spaced. There are many runs,
// so the fields are small: no segment is larger than Largest.
type run struct {
	from, n int32
	seg     int32 // from 1
	at      uint32
	step    uint32 // modulo 2³², so that it may be negative
}

// Largest is the largest allocation that this package supports, in bytes.
const Largest = (1<<32 - 2*smallBuffer) * quantum

func (r *run) holds(copy int) bool { return int(r.from) <= copy && copy < r.end() }

func (r *run) end() int { return int(r.from + r.n) }

func (r *run) place(copy int) place {
	return place{seg: r.seg, at: uint64(r.at + uint32(copy-int(r.from))*r.step)}
}

func runOf(copy int, at place) run {
	return run{from: int32(copy), n: 1, seg: at.seg, at: uint32(at.at)}
}

// add records the place of the next copy in loop order; copies may be missing.
func (o *owners) add(copy int, at place) {
	if n := len(o.runs); n > 0 && o.runs[n-1].extend(copy, at, o.down) {
		return
	}
	o.runs = append(doubled(o.runs), runOf(copy, at))
}

// extend adds a copy to a run if the copy continues it, and reports whether it does.
func (r *run) extend(copy int, at place, down bool) bool {
	next, step := r.end(), uint32(at.at-r.place(copy-1).at)
	if down {
		next, step = int(r.from)-1, r.at-uint32(at.at)
	}
	if r.seg != at.seg || copy != next || r.n > 1 && step != r.step {
		return false
	}
	if r.step = step; down {
		r.from, r.at = int32(copy), uint32(at.at)
	}
	r.n++
	return true
}

// outermost returns the runs that contain one of the first or last copies.
func (o *owners) outermost(copies int) (out []run) {
	for i := range o.runs {
		if r := &o.runs[i]; int(r.from) < lead || r.end() > copies-lead {
			out = append(out, *r)
		}
	}
	return out
}

// find returns the run that contains a copy, or nil.
func (o *owners) find(copy int) *run {
	if o == nil {
		return nil
	}
	for _, i := range [...]int{o.last, o.last + 1, o.last - 1} {
		if i >= 0 && i < len(o.runs) && o.runs[i].holds(copy) {
			o.last = i
			return &o.runs[i]
		}
	}
	i := sort.Search(len(o.runs), func(i int) bool {
		if o.down {
			return int(o.runs[i].from) <= copy
		}
		return o.runs[i].end() > copy
	})
	if i == len(o.runs) || !o.runs[i].holds(copy) {
		return nil
	}
	o.last = i
	return &o.runs[i]
}
