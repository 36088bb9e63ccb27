// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"2.11":                {2, 11},
		"2.11.0+cu130":        {2, 11},
		"v2.6.0":              {2, 6},
		" 2.1.2 ":             {2, 1},
		"2.12-branch":         {2, 12},
		"2.12.0a0+gitdea39b1": {2, 12},
		"2.10rc1":             {2, 10},
	} {
		got, err := ParseVersion(text)
		if err != nil || got != want {
			t.Errorf("ParseVersion(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2", "two.one", "2.x", "2.11x", "1.13.1", "2.0.1", "3.0", "2.99", "-2.1", "2.-1"} {
		if got, err := ParseVersion(text); err == nil {
			t.Errorf("ParseVersion(%q) = %v, want an error", text, got)
		}
	}
}

// TestRulesMatrix lists the versions that have each rule.
func TestRulesMatrix(t *testing.T) {
	tests := []struct {
		rule        string
		of          func(rules) bool
		first, last int // minor versions
	}{
		{"tie by creation", func(r rules) bool { return r.tieByCreation }, 12, 12},
		{"a division of 1 is off", func(r rules) bool { return r.divisionsFrom2 }, 4, 12},
		{"private pools may be expandable", func(r rules) bool { return r.privateExpandable }, 5, 12},
		{"a MemPool refuses expandable", func(r rules) bool { return r.memPoolRefusesExp }, 7, 7},
		{"a custom MemPool refuses expandable", func(r rules) bool { return r.customPoolRefuseExp }, 8, 9},
		{"a custom MemPool stays plain", func(r rules) bool { return r.customPoolPlain }, 10, 12},
		{"no-split pools", func(r rules) bool { return r.noSplitPools }, 10, 12},
		{"newest capture first", func(r rules) bool { return r.newestCaptureFirst }, 10, 12},
		{"empty_cache in a capture", func(r rules) bool { return r.emptyCacheInCapture }, 8, 12},
		{"use_on_oom", func(r rules) bool { return r.overflowPools }, 8, 12},
		{"use_on_oom before the flush", func(r rules) bool { return r.overflowBeforeFlush }, 11, 12},
		{"deferred frees at capture end", func(r rules) bool { return r.deferredAtPoolEnd }, 12, 12},
		{"fraction 1 is no limit", func(r rules) bool { return r.fractionOneIsNone }, 10, 12},
		{"separators unchecked", func(r rules) bool { return r.lenientSeparators }, 10, 12},
		{"rest after the last key", func(r rules) bool { return r.restStartsAfterLast }, 10, 12},
		{"max_split may equal the large segment", func(r rules) bool { return r.splitMayEqualLarge }, 10, 12},
		{"rounding resets", func(r rules) bool { return r.roundingResets }, 11, 12},
	}
	for _, test := range tests {
		got, want := [13]bool{}, [13]bool{}
		for minor := 1; minor <= 12; minor++ {
			got[minor] = test.of(rulesOf(Version{2, minor}))
			want[minor] = minor >= test.first && minor <= test.last
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, by minor version (-want +got):\n%s", test.rule, diff)
		}
	}
}
