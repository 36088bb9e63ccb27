// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"strings"
	"testing"

	"snug/internal/watch"
)

// many returns a machine with more cards than a small screen has rows.
func many() watch.View {
	w := watch.New(watch.Options{})
	const g = 1 << 30
	for t := range 10 {
		for i := range 24 {
			w.Add(watch.Event{T: float64(t), Kind: watch.KindGPU, GPU: watch.GPU{Index: i, Used: 30 * g, Total: 80 * g}})
		}
	}
	return w.View()
}

// TestManyCards checks that the chosen card is shown, that hidden ones are counted, and that there is room for the curve.
func TestManyCards(t *testing.T) {
	for _, card := range []int{0, 5, 12, 23, 24} {
		got := Draw(many(), Canvas{Width: 80, Height: 24, Card: card})
		if strings.Count(got, "> GPU") != 1 || !strings.Contains(got, "more GPUs") || !strings.Contains(got, "memory in use on GPU") {
			t.Errorf("card %d:\n%s", card, got)
		}
	}
}

// TestCutTexts checks that a long title keeps its end, and that a long text is cut between two words.
func TestCutTexts(t *testing.T) {
	v := watch.View{T: 61, Reading: watch.Reading{State: watch.Good, Why: strings.Repeat("memory ", 60)}}
	got := Draw(v, Canvas{Width: 80, Height: 24, Unicode: true, Title: "recordings/" + strings.Repeat("run", 40) + "/leak.jsonl"})
	lines := strings.Split(got, "\n")
	if !strings.Contains(lines[0], "…") || !strings.Contains(lines[0], "/leak.jsonl ") {
		t.Errorf("the title is %q", lines[0])
	}
	if !strings.Contains(got, "memory ...") {
		t.Errorf("a word was cut:\n%s", got)
	}
}

// TestWholeForecast checks that a narrow screen shortens the forecast and does not cut its numbers.
func TestWholeForecast(t *testing.T) {
	v := watch.View{Reading: watch.Reading{State: watch.Leaking, PID: 4711, StepsToOOM: &[3]int{1133, 1175, 1236}, SecondsToOOM: &[3]float64{13, 14, 15}}}
	const whole = "[LEAKING]  out of memory in 1133 to 1236 steps, probably 1175 (14 s)  (process 4711)"
	for width := 40; width < 100; width++ {
		line, _, _ := strings.Cut(strings.SplitN(Draw(v, Canvas{Width: width, Height: 24}), "\n", 2)[1], "\n")
		line = strings.TrimRight(line, " ")
		ok := line == "[LEAKING]  OOM in 1175 steps  (process 4711)" || line == "[LEAKING]  OOM in 1175 steps"
		for _, end := range []string{"to 1236 steps", "probably 1175", "(14 s)", "(process 4711)"} {
			ok = ok || strings.HasPrefix(whole, line) && strings.HasSuffix(line, end) || line == "[LEAKING]  out of memory in 1133 to 1236 steps  (process 4711)" ||
				line == "[LEAKING]  out of memory in 1133 to 1236 steps, probably 1175  (process 4711)"
		}
		if !ok || width >= len(whole) && line != whole {
			t.Errorf("%d columns: %s", width, line)
		}
	}
}

// TestSilentCard checks that a card that does not respond shows no old load.
func TestSilentCard(t *testing.T) {
	w := watch.New(watch.Options{})
	util := 96.0
	for s := range 40 {
		for i := range 2 {
			if i == 0 || s < 10 {
				w.Add(watch.Event{T: float64(s), Kind: watch.KindGPU, GPU: watch.GPU{Index: i, Used: 30 << 30, Total: 80 << 30, Util: &util}})
			}
		}
	}
	got := Draw(w.View(), Canvas{Width: 80, Height: 24})
	if strings.Count(got, "96 % busy") != 1 || strings.Count(got, "no response") != 1 {
		t.Error(got)
	}
}

// TestProcessLoad checks that a wide screen shows how much of the GPU each process uses, where that is known.
func TestProcessLoad(t *testing.T) {
	w := watch.New(watch.Options{})
	util, own := 96.0, 35.0
	for s := range 4 {
		w.Add(watch.Event{T: float64(s), Kind: watch.KindGPU, GPU: watch.GPU{Used: 30 << 30, Total: 80 << 30, Util: &util, Procs: []watch.Process{{PID: 7, Used: 9 << 30, Util: &own}, {PID: 8, Used: 9 << 30}}}})
	}
	for width, want := range map[int]int{80: 0, 120: 1} {
		got := Draw(w.View(), Canvas{Width: width, Height: 24})
		if strings.Count(got, "9.00 GiB  35 % busy  ") != want || strings.Count(got, "9.00 GiB  warming-up") != 2-want {
			t.Errorf("%d columns:\n%s", width, got)
		}
	}
}
