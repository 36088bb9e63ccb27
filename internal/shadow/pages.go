// SPDX-License-Identifier: Apache-2.0

package shadow

import "sync"

// pages holds objects that a run creates by the hundred thousand. They are allocated in pages, which is several
// times faster than one by one, and the next run reuses the pages.
type pages struct {
	tensors  shelf[Tensor]
	nodes    shelf[node]
	storages shelf[storage]
	saves    shelf[saved]
}

// page is a block of objects that are allocated at once.
type page[T any] [128]T

// shelf holds the pages of one kind of object.
type shelf[T any] struct {
	used  []*page[T]
	spare []*page[T] // cleared pages, for reuse
	next  int        // index of the next free object of the last page
}

// Cleared pages of finished runs, and empty traces and tags that are no longer needed. Reusing them only saves
// work for the garbage collector.
var (
	tensorPages  sync.Pool
	nodePages    sync.Pool
	storagePages sync.Pool
	savePages    sync.Pool
	traces       sync.Pool // pool of *stream.Trace
	tagRooms     sync.Pool // pool of *[]Tag
)

// take returns the next object of the last page, or the first of a new one.
func (s *shelf[T]) take(pool *sync.Pool) *T {
	if len(s.used) == 0 || s.next == len(page[T]{}) {
		s.used, s.next = append(s.used, s.page(pool)), 0
	}
	t := &s.used[len(s.used)-1][s.next]
	s.next++
	return t
}

// page returns an empty page: one that this run used before, one from a finished run, or a new one.
func (s *shelf[T]) page(pool *sync.Pool) *page[T] {
	if n := len(s.spare); n > 0 {
		p := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return p
	}
	if p, _ := pool.Get().(*page[T]); p != nil {
		return p
	}
	return new(page[T])
}

// recycle clears the pages on which every object is gone, except the last page, which is still being filled.
func (s *shelf[T]) recycle(gone func(t *T) bool) {
	if len(s.used) == 0 {
		return
	}
	last := len(s.used) - 1
	kept := s.used[:0]
	for i, p := range s.used {
		if i == last || !allGone(p, gone) {
			kept = append(kept, p)
			continue
		}
		clear(p[:])
		s.spare = append(s.spare, p)
	}
	s.used = kept
}

func allGone[T any](p *page[T], gone func(t *T) bool) bool {
	for i := range p {
		if !gone(&p[i]) {
			return false
		}
	}
	return true
}

// giveBack clears the pages and stores them for the next run.
func (s *shelf[T]) giveBack(pool *sync.Pool) {
	for _, p := range s.spare {
		pool.Put(p)
	}
	s.spare = nil
	for _, p := range s.used {
		clear(p[:])
		pool.Put(p)
	}
	s.used = nil
}

// Recycle makes the memory of dropped tensors and ended nodes available again, so that many steps need no more
// memory than a few. A dropped tensor must not be used afterwards.
func (w *World) Recycle() {
	w.pages.tensors.recycle(func(t *Tensor) bool { return t.dead })
	w.pages.nodes.recycle((*node).gone)
	w.pages.storages.recycle(func(m *storage) bool { return m.refs == 0 })
	w.pages.saves.recycle(func(s *saved) bool { return s.t == nil && s.holder == nil })
}

// Finish ends a run: it discards tensors and graph, and keeps the trace and tags.
func (w *World) Finish() {
	w.pages.tensors.giveBack(&tensorPages)
	w.pages.nodes.giveBack(&nodePages)
	w.pages.storages.giveBack(&storagePages)
	w.pages.saves.giveBack(&savePages)
	w.frames, w.pins, w.watch, w.spaces, w.casts = nil, nil, nil, nil, castCache{}
	w.layouts = nil
}

// DiscardTags gives the memory of the tags to the next run. They must not be used afterwards.
func (w *World) DiscardTags() {
	tags := w.Tags[:0]
	clear(tags[:cap(tags)])
	tagRooms.Put(&tags)
	w.Tags = nil
}

// DiscardTrace gives the memory of the trace to the next run. It must not be used afterwards.
func (w *World) DiscardTrace() {
	w.Trace.Reset()
	traces.Put(w.Trace)
	w.Trace = nil
}
