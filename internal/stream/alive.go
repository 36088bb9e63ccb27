// SPDX-License-Identifier: Apache-2.0

package stream

// Alive returns, for each allocation in the folded trace, how many copies are alive after an event of the unfolded
// one.
func (f *Folded) Alive(at int) []int {
	alive := make([]int, f.Trace.next)
	for id := range f.Trace.Initial {
		alive[id] = 1
	}
	loops, where := f.Loops(), 0
	for i := 0; i < len(f.Trace.Events) && where <= at; {
		if len(loops) == 0 || i < loops[0].From {
			f.count(alive, i, 0, 1)
			i, where = i+1, where+1
			continue
		}
		l := &loops[0]
		f.countLoop(alive, l, min(at+1-where, l.Times*(l.To-l.From)))
		i, where = l.To, where+l.Times*(l.To-l.From)
		loops = loops[1:]
	}
	return alive
}

// countLoop counts the first events of a loop. The iterations at either end may free allocations from outside the
// loop; those in between are alike.
func (f *Folded) countLoop(alive []int, l *Loop, events int) {
	length := l.To - l.From
	done := events / length
	for k := 0; k < done; k++ {
		times := 1
		if k == reach && done > 2*reach {
			times = done - 2*reach
		}
		for i := l.From; i < l.To; i++ {
			f.count(alive, i, l.Copy(k), times)
		}
		k += times - 1
	}
	for i := range events % length {
		f.count(alive, l.From+i, l.Copy(done), 1)
	}
}

// count applies an event, repeated the given number of times, to the number of live copies of its allocation.
func (f *Folded) count(alive []int, i, copy, times int) {
	switch e := &f.Trace.Events[i]; e.Kind {
	case Alloc:
		alive[e.ID] += times
	case Free, FreeRequested:
		id, _ := f.Freed(i, copy)
		alive[id] -= times
	}
}

// Copy returns the index of the copy that is played after k others.
func (l *Loop) Copy(k int) int {
	if l.Down {
		return l.Times - 1 - k
	}
	return k
}
