// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"snug/internal/stream"
)

// before is an allocation made before the recording began: its first entry is its free, or it has no entry and is in
// the final state.
type before struct {
	addr, requested uint64
	block           uint64 // its block's size if it is in the final state, else 0
	learned         uint64 // its block's size according to later allocations, for the large pool
	pending         bool   // its free was also requested before the recording
	key             uint32 // its number in folder.ids until IDs are assigned
}

// early is the bit that marks a number in folder.ids as a before.key.
const early = 1 << 31

// folder converts a range of entries into a Device. In a stream.Trace, the IDs of allocations made before the
// recording come first, but their number is known only at the end; so resolve finds them and emit writes the events.
type folder struct {
	m      *machine
	list   list
	out    *Device
	byKey  []uint32 // maps each before.key to an ID
	early  []before
	seen   *addressTable
	ids    []uint32 // for each alloc or free entry, the number of its allocation, or early|key
	fresh  uint32   // allocations in the recording
	events int      // the number of events, or slightly fewer
	most   int64    // peak of the bytes in segments, relative to the start
	whole  bool     // free requests were not recorded (skip_actions, since 2.11), so each completion is a free

	settings Settings
}

func fold(m *machine, index int, trace list, final []Segment, settings Settings) (*Device, error) {
	f := &folder{
		m: m, list: trace,
		out:  &Device{Index: index, Final: final, Entries: int(trace.n)},
		seen: newAddressTable(),
		ids:  make([]uint32, trace.n),

		settings: settings,
	}
	f.whole = !f.has(actFreeRequested)
	if err := f.resolve(); err != nil {
		return nil, err
	}
	f.survivors()
	f.emit()
	return f.out, f.rewind()
}

func (f *folder) entry(i int) *entry { return f.m.entries.at(int(f.list.start) + i) }

func (f *folder) has(a action) bool {
	for i := range f.ids {
		if f.entry(i).action == a {
			return true
		}
	}
	return false
}

// resolve assigns every alloc and free entry to its allocation.
func (f *folder) resolve() error {
	held := int64(0)
	for i := range f.ids {
		e := f.entry(i)
		var err error
		switch e.action {
		case actAlloc:
			f.events++
			err = f.alloc(i, e)
		case actFreeRequested:
			err = f.free(i, e)
		case actFreeCompleted:
			f.events++
			err = f.free(i, e)
		case noAction:
			err = errors.New("has no action")
		default:
			held = reserve(held, e)
			f.most = max(f.most, held)
		}
		if err != nil {
			return fmt.Errorf("trace entry %d %w", i, err)
		}
	}
	return nil
}

func (f *folder) alloc(i int, e *entry) error {
	s := f.seen.at(e.addr)
	if s.fate == alive || s.fate == waiting {
		return fmt.Errorf("allocates %#x, which is in use", e.addr)
	}
	f.seen.set(s, alive, f.fresh)
	f.ids[i] = f.fresh
	if f.fresh++; f.fresh == early {
		return errors.New("exceeds the number of allocations that can be counted")
	}
	return nil
}

func (f *folder) free(i int, e *entry) error {
	s := f.seen.at(e.addr)
	completes := e.action == actFreeCompleted
	switch {
	case s.fate == unseen:
		s.id = f.addEarly(before{addr: e.addr, requested: e.size, pending: completes && !f.whole})
	case s.fate == gone, s.fate == waiting && !completes:
		return fmt.Errorf("frees %#x, which is already free", e.addr)
	case s.fate == alive && completes && !f.whole:
		return fmt.Errorf("completes a free of %#x that was never requested", e.addr)
	}
	f.ids[i] = s.id
	if completes {
		f.seen.set(s, gone, s.id)
	} else {
		f.seen.set(s, waiting, s.id)
	}
	return nil
}

func (f *folder) addEarly(b before) uint32 {
	b.key = uint32(len(f.early))
	f.early = append(f.early, b)
	return early | b.key
}

// survivors finds the allocations made before the recording that are still alive at its end.
func (f *folder) survivors() {
	for _, seg := range f.out.Final {
		for _, b := range seg.Blocks {
			if b.State == Inactive {
				continue
			}
			s := f.seen.at(b.Addr)
			switch {
			case s.fate == unseen:
				f.addEarly(before{addr: b.Addr, requested: b.Requested, block: b.Size, pending: b.State == PendingFree})
			case s.id&early != 0 && s.fate == waiting:
				f.early[s.id&^early].block = b.Size
			}
		}
	}
}

// emit writes the events. Earlier allocations have the first IDs.
func (f *folder) emit() {
	slices.SortFunc(f.early, func(a, b before) int { return cmp.Compare(a.addr, b.addr) })
	f.byKey = make([]uint32, len(f.early))
	d := f.out
	d.Trace = stream.New(f.events)
	d.Trace.Reserve(uint32(len(f.early)))
	d.Addresses = make([]uint64, 0, len(f.early)+int(f.fresh))
	w := newWriter(f)
	for id, b := range f.early {
		f.byKey[b.key] = uint32(id)
		d.Addresses = append(d.Addresses, b.addr)
	}
	for i := 0; i < len(f.ids); {
		i += w.write(i)
	}
}

// id returns the ID of the allocation of entry i.
func (f *folder) id(i int) uint32 {
	if k := f.ids[i]; k&early != 0 {
		return f.byKey[k&^early]
	}
	return uint32(len(f.early)) + f.ids[i]
}
