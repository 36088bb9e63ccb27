// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stretch returns a trace whose events [from, to) make what goes (2), what stays (3,
// 4) and a mark.
func stretch() (t *Trace, from, to int) {
	t = New(16)
	t.Alloc(1, 0)
	t.Free(t.Alloc(2, 0))
	from = len(t.Events)
	goes := t.Alloc(10, 0)
	t.Alloc(20, 0)
	t.Add(Mark, 7, 0)
	t.Alloc(30, 0)
	t.Free(goes)
	return t, from, len(t.Events)
}

func alloc(id uint32, size uint64) Event { return Event{Size: size, ID: id, Kind: Alloc} }
func free(id uint32) Event               { return Event{ID: id, Kind: Free} }

func TestAgain(t *testing.T) {
	mark := Event{ID: 7, Kind: Mark}
	for _, c := range []struct {
		name    string
		changes Changes
		want    []Event
		made    []uint32
		renewed []uint32
	}{
		{"what stays is there already", Changes{}, []Event{alloc(5, 10), mark, free(5)}, []uint32{2}, nil},
		{"one made anew", Changes{Renew: []uint32{4}}, []Event{alloc(5, 10), mark, alloc(6, 30), free(5)}, []uint32{2, 4}, []uint32{6}},
		{"one that ends inside", Changes{Ends: []End{{At: 5, ID: 3}}}, []Event{alloc(5, 10), alloc(6, 20), free(6), mark, free(5)}, []uint32{2, 3}, nil},
		{"one that ends behind", Changes{Ends: []End{{At: 8, ID: 4}}}, []Event{alloc(5, 10), mark, alloc(6, 30), free(5), free(6)}, []uint32{2, 4}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, from, to := stretch()
			made, ok := tr.Again(from, to, c.changes)
			if !ok {
				t.Fatal("refused")
			}
			if diff := cmp.Diff(c.want, tr.Events[to:], cmp.AllowUnexported(Event{})); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if !slices.Equal(made, c.made) || !slices.Equal(c.changes.Renew, c.renewed) {
				t.Errorf("made of %v, renewed as %v, want %v and %v", made, c.changes.Renew, c.made, c.renewed)
			}
			if last := tr.Allocations(); last != 5+uint32(len(c.made)) {
				t.Errorf("%d allocations", last)
			}
		})
	}
}

// What cannot be repeated is refused, and nothing is written.
func TestAgainRefuses(t *testing.T) {
	for name, change := range map[string]func(t *Trace) Changes{
		"what is older goes":       func(t *Trace) Changes { t.Free(0); return Changes{} },
		"another stream is waited": func(t *Trace) Changes { t.Add(FreeRequested, 3, 0); return Changes{} },
		"the cache is emptied":     func(t *Trace) Changes { t.Add(EmptyCache, 0, 0); return Changes{} },
		"what goes is to be new":   func(*Trace) Changes { return Changes{Renew: []uint32{2}} },
		"what is older is to end":  func(*Trace) Changes { return Changes{Ends: []End{{At: 4, ID: 0}}} },
		"what is not there yet":    func(*Trace) Changes { return Changes{Renew: []uint32{9}} },
		"one is named twice":       func(*Trace) Changes { return Changes{Renew: []uint32{3}, Ends: []End{{At: 8, ID: 3}}} },
	} {
		tr, from, _ := stretch()
		c := change(tr)
		to := len(tr.Events)
		if _, ok := tr.Again(from, to, c); ok || len(tr.Events) != to || tr.Allocations() != 5 {
			t.Errorf("%s: written, %d events more", name, len(tr.Events)-to)
		}
	}
}
