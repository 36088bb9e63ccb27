// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"

	"snug/internal/watch"
)

var update = flag.Bool("update", false, "rewrite the screens in testdata")

// view returns the view of a recording at a time.
func view(t *testing.T, name string, until float64) watch.View {
	t.Helper()
	f, err := os.Open(filepath.Join("../../../testdata/watch", name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := watch.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	w := watch.New(watch.Options{})
	for {
		e, err := r.Next()
		if err != nil || e.T > until {
			return w.View()
		}
		w.Add(e)
	}
}

// eight returns a view of a node with eight cards.
func eight() watch.View {
	w := watch.New(watch.Options{})
	w.Add(watch.Event{Kind: watch.KindStart})
	for t := range 40 {
		for i := range 8 {
			util, power, limit, heat := float64(90+i), 500+10*float64(i), 700.0, 50+float64(i)
			g := watch.GPU{Index: i, Name: "NVIDIA H100 80GB HBM3", Used: int64(40+3*i) << 30, Total: 80 << 30, Util: &util, Power: &power, PowerLimit: &limit, Temperature: &heat}
			if i == 3 {
				g.Throttle = []string{"power cap"}
			}
			g.Procs = []watch.Process{{PID: 4000 + i, Used: g.Used - 1<<29, Name: "/usr/bin/python3"}}
			w.Add(watch.Event{T: float64(t), Kind: watch.KindGPU, GPU: g})
		}
	}
	w.Add(watch.Event{T: 40, Kind: watch.KindNote, Message: "GPU 5 is not responding: it fell off the bus; still watching the others"})
	return w.View()
}

// predicted returns a run that matches its prediction until a larger batch arrives.
func predicted() watch.View {
	const g = 1 << 30
	w := watch.New(watch.Options{})
	w.Expect(&watch.Expected{
		Load: watch.Peak{Allocated: g, Reserved: g}, Steps: []watch.Peak{{Allocated: 5 * g, Reserved: 6 * g}, {Allocated: 6 * g, Reserved: 7 * g}},
		Even: true, Batch: 8, Length: 512, Low: 0.99, High: 1.01,
		At: func([]int) (watch.Peak, bool) { return watch.Peak{Allocated: 10.9 * g, Reserved: 12 * g}, true },
	})
	w.Add(watch.Event{Kind: watch.KindStart, Total: 24 * g, PID: 7})
	for n := 1; n <= 60; n++ {
		s := watch.Step{N: n, Phase: watch.Train, Shape: []int{8, 512}, Allocated: 2 * g, PeakAllocated: 6 * g, Reserved: 7 * g, PeakReserved: 7 * g}
		if n == 1 {
			s.PeakAllocated, s.Reserved, s.PeakReserved = 5*g, 6*g, 6*g
		}
		if n >= 40 {
			s.Shape, s.PeakAllocated, s.Reserved, s.PeakReserved = []int{16, 512}, 11*g, 12*g, 12*g
		}
		util := 95.0
		w.Add(watch.Event{T: float64(n) / 4, Kind: watch.KindStep, PID: 7, Step: s})
		w.Add(watch.Event{T: float64(n) / 4, Kind: watch.KindGPU, GPU: watch.GPU{Name: "NVIDIA GeForce RTX 4090", Used: s.Reserved + g/2, Total: 24 * g, Util: &util, Procs: []watch.Process{{PID: 7, Used: s.Reserved + g/2, Name: "python3"}}}})
	}
	return w.View()
}

// ranks returns a run on four GPUs whose first rank holds more than the others.
func ranks() watch.View {
	const g = int64(1) << 30
	w := watch.New(watch.Options{})
	w.Add(watch.Event{Kind: watch.KindStart, Own: true})
	for i := range 4 {
		w.Add(watch.Event{Kind: watch.KindStart, Total: 80 * g, PID: 4000 + i, Rank: &i, World: 4})
	}
	for n := 1; n <= 40; n++ {
		for i := range 4 {
			held, util := 44*g, 97.0
			if i == 0 {
				held = 58 * g
			}
			w.Add(watch.Event{T: float64(n), Kind: watch.KindGPU, GPU: watch.GPU{Index: i, Name: "NVIDIA H100 80GB HBM3", Used: held + g, Total: 80 * g, Util: &util, Procs: []watch.Process{{PID: 4000 + i, Used: held + g/2, Name: "python3"}}}})
			w.Add(watch.Event{T: float64(n), Kind: watch.KindStep, PID: 4000 + i, Step: watch.Step{N: n, Phase: watch.Train, Shape: []int{8, 512}, Allocated: 12 * g, PeakAllocated: held - 2*g, Reserved: held, PeakReserved: held}})
		}
	}
	return w.View()
}

func TestPictures(t *testing.T) {
	sizes := []struct{ width, height int }{{80, 24}, {120, 35}, {200, 50}}
	views := map[string]watch.View{
		"leak": view(t, "leak_slow", 12), "good": view(t, "good", 12), "two": view(t, "two_a", 15), "ragged": view(t, "varying", 12), "eight": eight(), "empty": {},
		"predicted": predicted(), "ranks": ranks(),
	}
	for name, v := range views {
		for _, s := range sizes {
			c := Canvas{Width: s.width, Height: s.height, Unicode: true, Title: name + ".jsonl", Speed: 8}
			got := Draw(v, c)
			checkSize(t, got, s.width, s.height)
			path := filepath.Join("testdata", fmt.Sprintf("%s_%dx%d.txt", name, s.width, s.height))
			if *update {
				if err := os.WriteFile(path, []byte(trimmed(got)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), trimmed(got)); diff != "" {
				t.Errorf("%s is out of date; look at it, then go test ./internal/watch/screen -update\n%s", path, diff)
			}
		}
	}
}

func trimmed(picture string) string {
	var b strings.Builder
	for line := range strings.Lines(picture) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

func checkSize(t *testing.T, picture string, width, height int) {
	t.Helper()
	lines := strings.Split(picture, "\n")
	if len(lines) != height {
		t.Errorf("%d lines on a screen of %d", len(lines), height)
	}
	for _, l := range lines {
		if w := lipgloss.Width(l); w > width {
			t.Errorf("%d columns on a screen of %d: %s", w, width, l)
		}
	}
}

// TestEverySize draws screens of all sizes, with and without color, and checks that nothing overflows.
func TestEverySize(t *testing.T) {
	views := []watch.View{view(t, "leak_slow", 12), eight(), predicted(), ranks(), {}}
	for _, v := range views {
		for width := 40; width < 260; width += 13 {
			for height := 10; height < 80; height += 7 {
				for _, color := range []bool{false, true} {
					got := Draw(v, Canvas{Width: width, Height: height, Color: color, Unicode: color, Title: "a/very/long/name/of/a/training/script.py --with options", Output: []string{"epoch 1", "loss 2.3"}})
					checkSize(t, got, width, height)
					if !color && strings.Contains(got, "\x1b") {
						t.Fatal("escape sequences without color")
					}
				}
			}
		}
	}
}

func TestKeys(t *testing.T) {
	p := &Program{}
	var m model = model{canvas: Canvas{Speed: 1}, program: p, view: eight()}
	p.speed.Store(4607182418800017408) // the bits of 1.0
	press := func(keys ...string) model {
		for _, k := range keys {
			next, _ := m.key(k)
			m = next.(model)
		}
		return m
	}
	if got := press("tab", "tab").canvas.Card; got != 2 {
		t.Errorf("card %d", got)
	}
	if got := press("left").canvas.Card % 8; got != 1 {
		t.Errorf("card %d", got)
	}
	if got := press("+", "+", "-").canvas.Speed; got != 2 {
		t.Errorf("speed %g", got)
	}
	if !press("space").canvas.Paused || press("space").canvas.Paused {
		t.Error("space does not pause and resume")
	}
	if _, quit := m.key("q"); quit == nil {
		t.Error("q does not quit")
	}
}

func TestTail(t *testing.T) {
	var x tail
	for _, s := range []string{"a\n", "  1%\r 50%\r100%\n", "\x1b[31mred\x1b[0m\n", strings.Repeat("x", 2*mostTail), "\nend"} {
		if _, err := x.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	lines := x.lines()
	if got := lines[len(lines)-1]; got != "end" || len(lines) != 2 {
		t.Errorf("%d lines, the last is %q", len(lines), got)
	}
}
