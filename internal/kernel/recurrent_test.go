// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// TestRecurrentLayers compares the rules with 600 layers measured on an H200: gates, bytes of an element, whether the
// weights are one tensor, input, hidden, layers, directions, batch, steps, dropout, training; then the workspace,
// the reserve, and the workspace of the backward pass.
func TestRecurrentLayers(t *testing.T) {
	f, err := os.Open("testdata/recurrent.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, exact := 0, 0
	check := func(l RecurrentLayer, want uint64) {
		if want == 0 {
			return
		}
		figure := h200.RecurrentWorkspace(l)
		got := figure.N
		if figure.Least < figure.N && want+64 < figure.Least {
			t.Errorf("%+v: a workspace of at least %d bytes, want %d", l, figure.Least, want)
		}
		all++
		if got == want {
			exact++
		}
		if off := float64(got)/float64(want) - 1; off < -0.04 || off > 0.27 {
			t.Errorf("%+v: a workspace of %d bytes, want %d (%+.1f %%)", l, got, want, 100*off)
		}
	}
	layers, lines := 0, bufio.NewScanner(f)
	for lines.Scan() {
		layers++
		var v [14]int
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		l := RecurrentLayer{
			Gates: v[0], Element: uint64(v[1]), Flat: v[2] == 1, Input: v[3], Hidden: v[4], Layers: v[5], Directions: v[6], Batch: v[7], Steps: v[8],
			Dropout: v[9] == 1 && v[10] == 1, Training: v[10] == 1,
		}
		check(l, uint64(v[11]))
		if got := h200.RecurrentReserve(l).N; l.Training && got != uint64(v[12]) {
			t.Errorf("%+v: %d bytes are kept, want %d", l, got, v[12])
		}
		l.Backward = true
		check(l, uint64(v[13]))
	}
	if err := lines.Err(); err != nil || layers < 600 {
		t.Errorf("%d layers were read, want 600: %v", layers, err)
	}
	if exact*4 < all*3 {
		t.Errorf("%d of %d workspaces are exact, want at least three in four", exact, all)
	}
}

// TestPackedRecurrentLayers compares the rules with bidirectional LSTMs of two layers over packed texts, recorded in
// testdata/measured/ragged: sequences, steps and tokens; then the workspace of both passes and the reserve.
func TestPackedRecurrentLayers(t *testing.T) {
	for _, v := range [][5]int{
		{8, 177, 631, 52416768, 14396672}, {8, 129, 522, 51077376, 11891968}, {8, 235, 888, 55574784, 20245760}, {8, 144, 499, 50794752, 11389184},
		{12, 177, 863, 55398656, 19713792}, {12, 235, 1178, 59269376, 26899200}, {12, 117, 750, 54010112, 17075968},
	} {
		l := RecurrentLayer{Gates: 4, Element: 4, Flat: true, Input: 300, Hidden: 256, Layers: 2, Directions: 2, Batch: v[0], Steps: v[1], Tokens: v[2], Dropout: true, Training: true}
		reserve := h200.RecurrentReserve(l).N
		forward := h200.RecurrentWorkspace(l).N
		l.Backward = true
		backward := h200.RecurrentWorkspace(l).N
		if forward != uint64(v[3]) || backward != forward || (reserve+511)/512*512 != uint64(v[4]+511)/512*512 {
			t.Errorf("%v: workspaces of %d and %d bytes, want %d; %d are kept, want %d", v[:3], forward, backward, v[3], reserve, v[4])
		}
	}
}
