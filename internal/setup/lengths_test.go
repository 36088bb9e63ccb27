// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func ragged(t *testing.T, lengths any, more map[string]any) (*Setup, error) {
	t.Helper()
	fields := map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 4.0, "lengths": lengths}
	for k, v := range more {
		fields[k] = v
	}
	file := func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("12\n{\"length\": 90}\n{\"input_ids\": [1, 2, 3]}\n[4, 5]\n")), nil
	}
	return Decode(fields, Source{Open: file})
}

func TestLengths(t *testing.T) {
	s, err := ragged(t, []any{30.0, 50.0, 20.0}, map[string]any{"accumulation": 2.0})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Tokens(); s.Steps != 3 || s.Seq != 50 || !slices.Equal(got[1], []int{50, 50}) {
		t.Errorf("a list: %d steps, longest %d tokens, second step %v", s.Steps, s.Seq, got[1])
	}
	if s, err = ragged(t, "samples.jsonl", nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Lengths.Samples, []int{12, 90, 3, 4, 5}) {
		t.Errorf("a file: %v", s.Lengths.Samples)
	}
}

// TestShortListsRepeat plays lists that are shorter than the default number of steps, or than the given one.
func TestShortListsRepeat(t *testing.T) {
	for _, c := range []struct {
		lengths []any
		steps   any
		want    []int
		first   bool
	}{
		{[]any{30.0}, nil, []int{30, 30, 30}, false},
		{[]any{30.0, 50.0}, nil, []int{30, 50, 30}, false},
		{[]any{50.0, 30.0, 20.0, 10.0}, nil, []int{50, 30, 20, 10}, true},
		{[]any{50.0, 30.0}, 2.0, []int{50, 30}, true},
		{[]any{50.0, 30.0, 20.0}, 5.0, []int{50, 30, 20, 50, 30}, false},
	} {
		fields := map[string]any{}
		if c.steps != nil {
			fields["steps"] = c.steps
		}
		s, err := ragged(t, c.lengths, fields)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Concat(s.Tokens()...); !slices.Equal(got, c.want) || s.LongestOnlyFirst() != c.first {
			t.Errorf("%v in %v steps: %v, longest only first %v", c.lengths, c.steps, got, s.LongestOnlyFirst())
		}
	}
}

func TestDrawnLengths(t *testing.T) {
	for _, l := range []any{
		map[string]any{"uniform": []any{64.0, 512.0}},
		map[string]any{"lognormal": map[string]any{"median": 160.0, "sigma": 0.6, "max": 512.0}},
		map[string]any{"histogram": []any{[]any{64.0, 9.0}, []any{512.0, 1.0}, []any{9000.0, 0.0}}},
	} {
		one, err := ragged(t, l, map[string]any{"seed": 1.0})
		if err != nil {
			t.Fatal(err)
		}
		same, _ := ragged(t, l, map[string]any{"seed": 1.0})
		other, _ := ragged(t, l, map[string]any{"seed": 2.0})
		a, b, c := slices.Concat(one.Tokens()...), slices.Concat(same.Tokens()...), slices.Concat(other.Tokens()...)
		if !slices.Equal(a, b) || slices.Equal(a, c) {
			t.Errorf("%v does not depend only on its seed", l)
		}
		if len(a) != usualRaggedSteps || slices.Max(a) > 512 || slices.Min(a) < 1 || one.Seq != 512 {
			t.Errorf("%v: %d steps of %d to %d, longest %d", l, len(a), slices.Min(a), slices.Max(a), one.Seq)
		}
	}
}

func TestLengthsRefused(t *testing.T) {
	for want, fields := range map[string]map[string]any{
		"lengths[1] is 0":                         {"lengths": []any{5.0, 0.0}},
		"lengths[0] is -3":                        {"lengths": []any{-3.0}},
		"lengths[0] is -5":                        {"lengths": "-5,3"},
		"learned positions":                       {"lengths": []any{5000.0}},
		"has 0 entries":                           {"lengths": []any{}},
		"remove one of them":                      {"lengths": []any{5.0}, "seq": 128.0},
		"goes from 9 down to 4":                   {"lengths": map[string]any{"uniform": []any{9.0, 4.0}}},
		"median is missing":                       {"lengths": map[string]any{"lognormal": map[string]any{"sigma": 1.0, "max": 9.0}}},
		"zipf is not known":                       {"lengths": map[string]any{"zipf": 1.0}},
		"no share above 0":                        {"lengths": map[string]any{"histogram": []any{[]any{64.0, 0.0}}}},
		"micro-batches":                           {"lengths": map[string]any{"uniform": []any{4.0, 9.0}}, "accumulation": 1000.0},
		"samples that can be drawn":               {"lengths": map[string]any{"uniform": []any{4.0, 9.0}}, "batch": 1e6},
		"has no effect without lengths":           {"lengths": nil, "seed": 3.0, "seq": 8.0},
		"because its decoder has its own lengths": {"lengths": []any{5.0}, "model": map[string]any{"name": "t5-base"}},
		"is neither a list":                       {"lengths": "unifrom:64-512"},
		"it must be a list":                       {"lengths": true},
		"it must be at most 64":                   {"steps": 65.0, "seq": 8.0, "lengths": nil},
		"it must be at most 2000":                 {"lengths": map[string]any{"uniform": []any{4.0, 9.0}}, "steps": 2001.0},
	} {
		_, err := ragged(t, fields["lengths"], fields)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", fields, err, want)
		}
	}
}

func TestLengthFilesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"\x00\xff\x13":                      "it is not text",
		"\xff\x13":                          "neither a number nor JSON",
		"":                                  "contains no lengths",
		"12\n0\n":                           "line 2 has the length 0",
		"12.5":                              "length 12.5",
		"{\"text\": \"hello\"}":             "depends on the tokenizer",
		"{\"a\": 1}":                        "no field with its length",
		strings.Repeat("1", 17<<20):         "a line of more than",
		strings.Repeat("7\n", maxSamples+1): "is beyond the 4194304 samples",
	} {
		d := &dataFile{notes: map[string]bool{}}
		if err := d.read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

// TestGroupedLengths groups one epoch of four mega-batches: lengths fall within each, and the longest batch is the
// first.
func TestGroupedLengths(t *testing.T) {
	s, err := ragged(t, "uniform:1-500", map[string]any{"steps": 40.0})
	if err != nil {
		t.Fatal(err)
	}
	plain := slices.Concat(s.Tokens()...)
	s.Lengths = s.Lengths.Ordered(Grouped)
	got := slices.Concat(s.Tokens()...)
	if slices.Max(got) != got[0] || got[0] != slices.Max(plain) || len(got) != 40 {
		t.Errorf("%v begins with %d, but the longest is %d", got, got[0], slices.Max(plain))
	}
	for from := 0; from < 40; from += 10 {
		part := got[from+1 : from+10]
		if !slices.IsSortedFunc(part, func(a, b int) int { return b - a }) {
			t.Errorf("mega-batch from %d is not descending: %v", from, part)
		}
	}
	s.Lengths = s.Lengths.Ordered(Packed)
	if got := slices.Concat(s.Tokens()...); slices.Min(got) != 500 {
		t.Errorf("packed rows are %v", got)
	}
	s.Lengths = s.Lengths.CutTo(80)
	if got := slices.Concat(s.Tokens()...); slices.Max(got) != 80 {
		t.Errorf("truncated rows are %v", got)
	}
}

func TestSampledLengths(t *testing.T) {
	tokens := [][]int{{5, 6, 7}, {8, 9, 1}, {2, 2, 2}, {3, 99, 4}}
	got := Sampled(tokens, 2, 2)
	if len(got) != 2 || !slices.Equal(got[0], []int{5, 7}) || !slices.Equal(got[1], []int{3, 99}) {
		t.Errorf("%v", got)
	}
	if tokens[0][1] != 6 {
		t.Error("the original run was changed")
	}
}
