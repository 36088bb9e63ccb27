// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// uncut returns the whole diff, without shortening lines.
func uncut(fromName, from, toName, to string) []byte {
	diff, _ := unified(fromName, []byte(from), toName, []byte(to), math.MaxInt)
	return diff
}

func TestUnified(t *testing.T) {
	numbers := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	tests := map[string]struct{ from, to, want string }{
		"equal":           {"a\n", "a\n", ""},
		"new":             {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"emptied":         {"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		"one of many":     {numbers(1, 9), strings.Replace(numbers(1, 9), "5", "five", 1), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		"no newline":      {"a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		"newline added":   {"a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"moved":           {"a\nb\nc\n", "b\nc\na\n", "@@ -1,3 +1,3 @@\n-a\n b\n c\n+a\n"},
		"near":            {numbers(1, 8), "one\n" + numbers(2, 7) + "eight\n", "@@ -1,8 +1,8 @@\n-1\n+one\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+eight\n"},
		"far":             {numbers(1, 9), "one\n" + numbers(2, 8) + "nine\n", "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+nine\n"},
		"repeated lines":  {"x:\n  a\n\ny:\n  a\n\n", "x:\n  a\n\nz:\n  a\n\ny:\n  a\n\n", "@@ -1,6 +1,9 @@\n x:\n   a\n \n+z:\n+  a\n+\n y:\n   a\n \n"},
		"nothing in both": {"a\nb\n", "c\n", "@@ -1,2 +1,1 @@\n-a\n-b\n+c\n"},
	}
	for name, test := range tests {
		want := test.want
		if want != "" {
			want = "--- old\n+++ new\n" + want
		}
		if diff := cmp.Diff(want, string(uncut("old", test.from, "new", test.to))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestUnifiedProperty checks that every diff turns the old text into the new one, and does not touch their
// common beginning and end.
func TestUnifiedProperty(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "}", "batch: 8", "\r"}), 0, 30).Draw(t, "lines")
		return strings.Join(lines, "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		wantDiff(t, text.Draw(t, "from"), text.Draw(t, "to"))
	})
}

func FuzzUnified(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\n")
	f.Add("", "x")
	f.Add("a\n\na\n\n", "a\n\nb\n\na\n\n")
	f.Fuzz(func(t *testing.T, from, to string) { wantDiff(t, from, to) })
}

type failer interface{ Fatalf(string, ...any) }

func wantDiff(t failer, from, to string) {
	diff := uncut("old", from, "new", to)
	got, err := patched(from, string(diff))
	if err != nil || got != to {
		t.Fatalf("%q and\n%s\ngive %q (%v), want %q", from, diff, got, err, to)
	}
	if from == to && diff != nil {
		t.Fatalf("equal texts have a diff:\n%s", diff)
	}
}

// patched applies a diff as strictly as patch does: every kept or removed line must be where its hunk header
// places it.
func patched(from, diff string) (string, error) {
	old, at := linesOf([]byte(from)), 0
	var out strings.Builder
	lines := linesOf([]byte(diff))
	for i := 2; i < len(lines); i++ { // after the two lines with file names
		line := lines[i]
		if i+1 < len(lines) && lines[i+1][0] == '\\' {
			line = strings.TrimSuffix(line, "\n")
		}
		switch line[0] {
		case '@':
			start, n := oldRange(line)
			if n > 0 {
				start--
			}
			for ; at < start; at++ {
				out.WriteString(old[at])
			}
		case ' ', '-':
			if at >= len(old) || old[at] != line[1:] {
				return "", fmt.Errorf("line %d of the diff is not line %d of the text", i+1, at+1)
			}
			if line[0] == ' ' {
				out.WriteString(old[at])
			}
			at++
		case '+':
			out.WriteString(line[1:])
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String(), nil
}

func oldRange(header string) (start, n int) {
	a, b, _ := strings.Cut(strings.TrimPrefix(strings.Fields(header)[1], "-"), ",")
	start, _ = strconv.Atoi(a)
	n, _ = strconv.Atoi(b)
	return start, n
}

// A file in which every line moves takes time in proportion to its length, because it is read once for each
// depth.
func TestAlignIsBounded(t *testing.T) {
	var from, to []string
	for i := range 20000 {
		from = append(from, strconv.Itoa(i))
		to = append(to, strconv.Itoa(20000-i))
	}
	allocs := testing.AllocsPerRun(1, func() { align(from, to) })
	if most := float64(deepest * 4 * len(from)); allocs > most {
		t.Errorf("%.0f allocations, want at most %.0f", allocs, most)
	}
}

func TestNamesOfOneLine(t *testing.T) {
	got := string(uncut("a/x\n+evil: 1", "1\n", "b/x\r\n+evil: 1", "2\n"))
	if want := "--- a/x\\n+evil: 1\n+++ b/x\\r\\n+evil: 1\n"; !strings.HasPrefix(got, want) {
		t.Errorf("the header is %q", got)
	}
}

// A long line is cut to the part around the change, with the number of omitted bytes.
func TestLongLinesAreShortened(t *testing.T) {
	const megabyte = 1 << 20
	far := strings.Repeat("é", megabyte/2)
	for name, test := range map[string]struct {
		from, to, want string
		cut            int
	}{
		"beginning": {"batch: 4 " + far + "\n", "batch: 8 " + far + "\n", "8 é", 2},
		"middle":    {far + "batch: 4" + far + "\n", far + "batch: 8" + far + "\n", "ébatch: 8é", 2},
		"end":       {far + " 4", far + " 8", "é 8\n\\ No newline", 2},
		"context":   {far + "\r\nbatch: 4\n", far + "\r\nbatch: 8\n", "bytes]\r\n-batch: 4\n+batch: 8\n", 1},
		"short":     {"batch: 4\n", "batch: 8\n", "-batch: 4\n+batch: 8\n", 0},
		"new":       {"", far + "\n", "+é", 1},
	} {
		text, cut := unified("old", []byte(test.from), "new", []byte(test.to), 100)
		diff := string(text)
		if cut != test.cut || !strings.Contains(diff, test.want) || len(diff) > 600 || !utf8.ValidString(diff) {
			t.Errorf("%s: %d lines cut, want %d and %q in %d bytes:\n%.700s", name, cut, test.cut, test.want, len(diff), diff)
		}
		if said := strings.Contains(diff, " bytes"); said != (test.cut > 0) {
			t.Errorf("%s: the cut is reported: %v", name, said)
		}
	}
}
