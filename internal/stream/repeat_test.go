// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRepeat(t *testing.T) {
	tr := New(8)
	old := tr.Alloc(100, 0)
	from := len(tr.Events)
	tr.Add(Mark, 2, 0)
	a := tr.Alloc(10, 0)
	b := tr.Alloc(20, 0)
	tr.Free(a)
	tr.Free(b)
	if !tr.Repeat(from) {
		t.Fatal("a complete step was not repeated")
	}
	want := []Event{{ID: 2, Kind: Mark}, {Size: 10, ID: 3, Kind: Alloc}, {Size: 20, ID: 4, Kind: Alloc}, {ID: 3, Kind: Free}, {ID: 4, Kind: Free}}
	if diff := cmp.Diff(want, tr.Events[from+5:], cmpopts.IgnoreUnexported(Event{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if tr.Allocations() != 5 {
		t.Errorf("%d allocations", tr.Allocations())
	}

	for name, events := range map[string]func(){
		"frees something older": func() { tr.Free(old) },
		"keeps something":       func() { tr.Alloc(5, 0) },
		"flushes":               func() { tr.Add(EmptyCache, 0, 0) },
		"uses another stream":   func() { tr.Add(RecordStream, old, 1) },
	} {
		from := len(tr.Events)
		events()
		before := len(tr.Events)
		if tr.Repeat(from) || len(tr.Events) != before {
			t.Errorf("%s: repeated", name)
		}
	}
}
