// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"fmt"
	"slices"
)

// ways follows several branches of which one is taken. A branch that leaves the script does not affect what comes
// after it.
func (r *runner) ways(why string, branches ...func() flow) flow {
	var ends []map[string]*variable
	left := onward
	for _, b := range branches {
		var f flow
		r.maybe++
		after := r.attempt(func() { f = b() })
		r.maybe--
		if f == onward {
			ends = append(ends, after)
		} else {
			left = f
		}
	}
	if len(ends) == 0 {
		return left
	}
	r.join(ends, why)
	return onward
}

func (r *runner) branches(s branches) (outcome, flow) { return unsure, r.branch(s, 0) }

// branch follows an if statement, starting at condition i.
func (r *runner) branch(s branches, i int) flow {
	if i == len(s.conditions) {
		_, f := r.list(s.otherwise)
		return f
	}
	r.assumed = false
	o, f := r.list(s.conditions[i])
	assumed := r.assumed
	body := func() flow { _, f := r.list(s.bodies[i]); return f }
	switch {
	case f != onward:
		return f
	case o == yes && assumed:
		return r.unlessExits(body, func() flow { return r.branch(s, i+1) })
	case o == yes:
		return body()
	case o == no:
		return r.branch(s, i+1)
	}
	why := fmt.Sprintf("it is set in a branch at line %d that may not be taken", r.line(s.start))
	return r.ways(why, body, func() flow { return r.branch(s, i+1) })
}

// unlessExits follows a branch that is taken if the script gets no arguments. If the script then ends at once, it
// needs arguments, and the other branch is followed.
func (r *runner) unlessExits(body, otherwise func() flow) flow {
	f := onward
	after := r.attempt(func() { f = body() })
	if f == exits {
		return otherwise()
	}
	r.adopt(after)
	return f
}

// adopt sets the given variables.
func (r *runner) adopt(after map[string]*variable) {
	names := map[string]bool{}
	for name := range after {
		names[name] = true
	}
	for _, name := range sortedNames(names) {
		r.set(name, after[name])
	}
}

func (r *runner) choice(s choice) (outcome, flow) {
	value := r.joined(s.of.parts)
	text, known := textOf(value)
	absent := !known && allAbsent(value)
	body := func(i int) func() flow {
		return func() flow { _, f := r.list(s.items[i].body); return f }
	}
	always := func() flow {
		var all []func() flow
		exhaustive := false
		for i, item := range s.items {
			all = append(all, body(i))
			exhaustive = exhaustive || slices.ContainsFunc(item.patterns, func(w word) bool { return w.raw == "*" })
		}
		if !exhaustive {
			all = append(all, func() flow { return onward })
		}
		return r.ways(fmt.Sprintf("it is set in a branch at line %d, for one value of %s", r.line(s.start), shortened(s.of.raw)), all...)
	}
	if !known && !absent {
		return unsure, always()
	}
	for i, item := range s.items {
		for _, p := range item.patterns {
			pattern, ok := textOf(r.joined(p.parts))
			switch {
			case !ok:
				return unsure, always()
			case matchesGlob(pattern, text) && absent:
				return unsure, r.unlessExits(body(i), always)
			case matchesGlob(pattern, text):
				return unsure, body(i)()
			}
		}
	}
	if absent {
		return unsure, always()
	}
	return yes, onward
}

// maxIterations limits the number of iterations to follow in a loop.
const maxIterations = 64

func (r *runner) forEach(s forEach) (outcome, flow) {
	items := r.frame.args
	open := false
	if !s.args {
		items = r.words(s.words)
	}
	for _, w := range items {
		open = open || w.Many() && !onlyArguments(w)
	}
	items = slices.DeleteFunc(slices.Clone(items), onlyArguments)
	if open || len(items) > maxIterations || !r.spend(10*len(items)) {
		why := fmt.Sprintf("it takes several values in the loop at line %d", r.line(s.start))
		return yes, r.anyIterations(s.body, s.start, func() { r.set(s.name, &variable{pieces: unknown(why), definition: -1}) })
	}
	for _, w := range items {
		r.set(s.name, &variable{pieces: w.Pieces, definition: -1, from: w.From})
		switch _, f := r.list(s.body); f {
		case breaks:
			return yes, onward
		case exits, returns:
			return yes, f
		}
	}
	return yes, onward
}

// onlyArguments reports whether a word is the script's "$@", which is empty unless the caller passes something.
func onlyArguments(w Word) bool {
	return len(w.Pieces) == 1 && w.Pieces[0].many && w.Pieces[0].absent && (w.Raw == `"$@"` || w.Raw == "$@" || w.Raw == "$*")
}

func (r *runner) loop(s loop) (outcome, flow) {
	for iteration := 0; ; iteration++ {
		o, f := r.list(s.condition)
		if s.until {
			o = map[outcome]outcome{yes: no, no: yes}[o]
		}
		switch {
		case f != onward:
			return o, f
		case o == no:
			return yes, onward
		case o != yes || iteration == maxIterations || !r.spend(10):
			return yes, r.anyIterations(s.body, s.start, func() {})
		}
		switch _, f := r.list(s.body); f {
		case breaks:
			return yes, onward
		case exits, returns:
			return yes, f
		}
	}
}

// anyIterations follows the body of a loop with an unknown number of iterations. Whatever changes between iterations
// becomes unknown.
func (r *runner) anyIterations(body list, start int, before func()) flow {
	why := fmt.Sprintf("it changes in the loop at line %d", r.line(start))
	if r.spend(10) {
		r.quiet++
		iteration := r.attempt(func() { before(); r.list(body) })
		r.quiet--
		r.join([]map[string]*variable{nil, iteration}, why)
	}
	return r.ways(why, func() flow {
		before()
		if _, f := r.list(body); f == exits || f == returns {
			return f
		}
		return onward
	}, func() flow { return onward })
}
