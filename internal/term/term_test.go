// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestChart(t *testing.T) {
	c := Chart{Inner: []uint64{0, 4, 8, 2}, Outer: []uint64{2, 4, 8, 8}, Height: 2, Top: "8 GiB", Mark: 2}
	tests := map[string]struct {
		screen Screen
		want   string
	}{
		"unicode": {Screen{Width: 80, Unicode: true}, "8 GiB │  █░\n      │░██▄\n    0 └────\n         ▲"},
		"ascii":   {Screen{Width: 80}, "8 GiB |  #.\n      |.###\n    0 +----\n         ^"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(tt.screen.Chart(c), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Chart() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChartLine draws a line above a column, through its shade, and over its solid part.
func TestChartLine(t *testing.T) {
	c := Chart{Inner: []uint64{0, 2, 8, 2}, Outer: []uint64{2, 8, 8, 8}, Height: 2, Top: "8 GiB", Mark: -1, Line: []uint64{8, 8, 4, 0}}
	for want, s := range map[string]Screen{
		"8 GiB │──█░\n      │░▄▬▄\n    0 └────": {Unicode: true},
		"8 GiB |--#.\n      |.#=#\n    0 +----": {},
	} {
		if diff := cmp.Diff(want, strings.Join(s.Chart(c), "\n")); diff != "" {
			t.Errorf("Chart() (-want +got):\n%s", diff)
		}
	}
}

func TestTableFits(t *testing.T) {
	s := Screen{Width: 40, Unicode: true}
	lines := s.Table(Table{
		Header: []string{"setting", "reserved"},
		Rows:   [][]string{{strings.Repeat("long", 20), "7.00 GiB"}, {"short", "12.00 GiB"}},
		Right:  []int{1},
		Indent: 2,
	})
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > 40 {
			t.Errorf("%d columns: %q", n, l)
		}
	}
	if !strings.Contains(lines[1], "…") {
		t.Errorf("long cell not marked as truncated: %q", lines[1])
	}
	if !strings.HasSuffix(lines[1], "  7.00 GiB") {
		t.Errorf("number not on the right: %q", lines[1])
	}
}

func TestTableKeepsEndsOfPaths(t *testing.T) {
	s := Screen{Width: 20, Unicode: true}
	lines := s.Table(Table{Header: []string{"model", "no."}, Rows: [][]string{{"projects/two_tower/main.py", "1"}, {"python -c 'a/b' and more", "2"}}})
	for i, want := range []string{"…_tower/main.py  1", "python -c 'a/b…  2"} {
		if lines[i+1] != want {
			t.Errorf("%q, want %q", lines[i+1], want)
		}
	}
}

func TestBar(t *testing.T) {
	tests := []struct {
		value uint64
		want  string
		ascii string
	}{
		{0, "", ""},
		{1, "▏", "#"},
		{50, "█████", "#####"},
		{56, "█████▋", "######"},
		{200, "██████████", "##########"},
	}
	for _, tt := range tests {
		if got := (Screen{Unicode: true}).Bar(tt.value, 100, 10); got != tt.want {
			t.Errorf("Bar(%d) = %q, want %q", tt.value, got, tt.want)
		}
		if got := (Screen{}).Bar(tt.value, 100, 10); got != tt.ascii {
			t.Errorf("ASCII Bar(%d) = %q, want %q", tt.value, got, tt.ascii)
		}
	}
}

func TestSparkline(t *testing.T) {
	if got, want := (Screen{Unicode: true}).Sparkline([]uint64{0, 1, 4, 8}), " ▁▄█"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDetectLeavesPipesPlain(t *testing.T) {
	env := map[string]string{"LANG": "en_US.UTF-8", "TERM": "xterm-256color"}
	got := Detect(&bytes.Buffer{}, func(k string) string { return env[k] })
	if want := (Screen{Width: 80, Unicode: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	env["LC_ALL"] = "C"
	if got := Detect(&bytes.Buffer{}, func(k string) string { return env[k] }); got.Unicode {
		t.Error("LC_ALL=C should mean plain ASCII, whatever LANG says")
	}
}

func TestPaint(t *testing.T) {
	if got := (Screen{}).Paint(Bold, "x"); got != "x" {
		t.Errorf("without color: %q", got)
	}
	if got, want := (Screen{Color: true}).Paint(Bold, "x"), "\x1b[1mx\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1377395: "1,377,395", -1000: "-1,000", -100: "-100"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.01234: "0.0123", 4.5678: "4.57", 45.67: "45.7", 9.996: "10.0", 0.09999: "0.100", 99.96: "100", 170.7: "171", 1234: "1,230", 87449: "87,400", 999900: "1,000,000"} {
		if got := ThreeDigits(x); got != want {
			t.Errorf("%v is written %s, want %s", x, got, want)
		}
	}
}
