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
