// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stretch returns a trace whose events [from, to) make an allocation that is freed (2), two that stay (3, 4) and a
// mark.
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
		{"what stays already exists", Changes{}, []Event{alloc(5, 10), mark, free(5)}, []uint32{2}, nil},
		{"one allocated again", Changes{Renew: []uint32{4}}, []Event{alloc(5, 10), mark, alloc(6, 30), free(5)}, []uint32{2, 4}, []uint32{6}},
		{"one freed inside", Changes{Ends: []End{{At: 5, ID: 3}}}, []Event{alloc(5, 10), alloc(6, 20), free(6), mark, free(5)}, []uint32{2, 3}, nil},
		{"one freed at the end", Changes{Ends: []End{{At: 8, ID: 4}}}, []Event{alloc(5, 10), mark, alloc(6, 30), free(5), free(6)}, []uint32{2, 4}, nil},
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
				t.Errorf("made %v, renewed %v, want %v and %v", made, c.changes.Renew, c.made, c.renewed)
			}
			if last := tr.Allocations(); last != 5+uint32(len(c.made)) {
				t.Errorf("%d allocations", last)
			}
		})
	}
}

// TestAgainRefuses checks that a stretch that cannot be repeated is refused, and nothing is written.
func TestAgainRefuses(t *testing.T) {
	for name, change := range map[string]func(t *Trace) Changes{
		"frees something older":    func(t *Trace) Changes { t.Free(0); return Changes{} },
		"waits for another stream": func(t *Trace) Changes { t.Add(FreeRequested, 3, 0); return Changes{} },
		"empties the cache":        func(t *Trace) Changes { t.Add(EmptyCache, 0, 0); return Changes{} },
		"renews something freed":   func(*Trace) Changes { return Changes{Renew: []uint32{2}} },
		"ends something older":     func(*Trace) Changes { return Changes{Ends: []End{{At: 4, ID: 0}}} },
		"renews something missing": func(*Trace) Changes { return Changes{Renew: []uint32{9}} },
		"names one twice":          func(*Trace) Changes { return Changes{Renew: []uint32{3}, Ends: []End{{At: 8, ID: 3}}} },
	} {
		tr, from, _ := stretch()
		c := change(tr)
		to := len(tr.Events)
		if _, ok := tr.Again(from, to, c); ok || len(tr.Events) != to || tr.Allocations() != 5 {
			t.Errorf("%s: %d events were written", name, len(tr.Events)-to)
		}
	}
}
