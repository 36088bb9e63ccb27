// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// litGPTOff has the one run with an error above 0.5 %: grouped keys and values on one GPU. The cause is unknown.
var litGPTOff = map[string]float64{"tiny-w1-mb2-acc2": 0.011}

// TestLitGPTPeaks compares estimates for LitGPT's finetuning with the runs in testdata/measured/litgpt_ops.py:
// adapters on one GPU and under FSDP on up to 4, up to Llama 2 13B, and full finetuning. Runs whose setups have
// PyTorch 2.1 were also measured with PyTorch 2.11, but with LitGPT's code of October 2023.
func TestLitGPTPeaks(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "testdata", "measured", "litgpt.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	card, err := gpu.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	sc, rows := bufio.NewScanner(f), 0
	for ; sc.Scan(); rows++ {
		var row struct {
			Setup    map[string]any
			Measured struct {
				Allocated float64 `json:"peak_allocated"`
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		s, err := setup.Decode(row.Setup, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Figures(s, card)
		if err != nil {
			t.Fatal(err)
		}
		most := cmp.Or(litGPTOff[s.ID], 0.005)
		if off := float64(a.PeakAllocated)/row.Measured.Allocated - 1; math.Abs(off) > most {
			t.Errorf("%s: peak of %d bytes allocated, measured %.0f (%+.2f %%)", s.ID, a.PeakAllocated, row.Measured.Allocated, 100*off)
		}
	}
	if rows < 32 {
		t.Errorf("only %d runs compared", rows)
	}
}

// adaptedRun returns a Llama run with adapters over two GPUs, with additional fields.
func adaptedRun(t *testing.T, peft bool, fields map[string]any) *setup.Setup {
	t.Helper()
	all := map[string]any{
		"model": map[string]any{"name": "tinyllama-1.1b"}, "batch": 1.0, "seq": 256.0, "precision": "bf16", "accumulation": 4.0, "checkpointing": true,
		"lora": map[string]any{"rank": 8.0, "targets": []any{"q_proj", "v_proj"}, "peft": peft}, "dist": map[string]any{"kind": "fsdp1", "world": 2.0},
	}
	for name, value := range fields {
		all[name] = value
	}
	return named(t, all)
}

// TestMixedUnits checks blocks that mix adapters with frozen weights: all weights in the blocks have gradients, which
// stay whole until the last micro-batch, but only the adapters are updated.
func TestMixedUnits(t *testing.T) {
	at := func(s *setup.Setup) *Answer {
		t.Helper()
		a, err := Estimate(s, gpu.Card{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	mixed, own := at(adaptedRun(t, false, nil)), at(adaptedRun(t, true, nil))
	if mixed.Trainable != own.Trainable || mixed.Trainable > mixed.Params/100 {
		t.Errorf("%d of %d parameters are trained; with separate units %d", mixed.Trainable, mixed.Params, own.Trainable)
	}
	if blocks := uint64(2 * 22 * 44_040_192); mixed.Components.Gradients < blocks {
		t.Errorf("%d bytes of gradients at the peak, but the blocks have %d", mixed.Components.Gradients, blocks)
	}
	if states := uint64(2 * 2 * mixed.Trainable); mixed.Components.Optimizer > states+states/10 {
		t.Errorf("%d bytes of optimizer states, but the adapters have %d", mixed.Components.Optimizer, states)
	}
	if each := at(adaptedRun(t, false, map[string]any{"accumulation": 1.0, "loop": "litgpt"})); each.PeakAllocated >= mixed.PeakAllocated {
		t.Errorf("%d bytes with one micro-batch, %d with gradients held over four", each.PeakAllocated, mixed.PeakAllocated)
	}
}

// TestMixedUnitsNote checks that a note names LitGPT's units, and that it mentions if LitGPT was only assumed
// because no loop is named.
func TestMixedUnitsNote(t *testing.T) {
	for _, c := range []struct {
		name           string
		s              *setup.Setup
		mixed, guessed bool
	}{
		{"no loop", adaptedRun(t, false, nil), true, true},
		{"litgpt", adaptedRun(t, false, map[string]any{"loop": "litgpt"}), true, false},
		{"PEFT", adaptedRun(t, true, nil), false, false},
		{"clipping", adaptedRun(t, false, map[string]any{"clip": true}), false, false},
		{"torchtune", adaptedRun(t, false, map[string]any{"loop": "torchtune"}), false, false},
		{"one micro-batch", adaptedRun(t, false, map[string]any{"accumulation": 1.0}), false, false},
		{"fsdp2", adaptedRun(t, false, map[string]any{"dist": map[string]any{"kind": "fsdp2", "world": 2.0}}), false, false},
	} {
		notes := Notes(c.s, gpu.Card{})
		says := func(text string) bool {
			return slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, text) })
		}
		if says("frozen weights get gradients too") != c.mixed || says("are assumed to be LitGPT's") != c.guessed || says("LitGPT reduces gradients") != c.mixed {
			t.Errorf("%s: %q", c.name, notes)
		}
	}
}

// TestLitGPTShort checks short samples: one token leaves nothing to predict, and 129 tokens leave an empty chunk of
// logits.
func TestLitGPTShort(t *testing.T) {
	for _, seq := range []float64{1, 2, 128, 129} {
		for _, adapters := range []bool{true, false} {
			fields := map[string]any{"model": map[string]any{"name": "tinyllama-1.1b"}, "batch": 2.0, "seq": seq, "precision": "bf16", "loop": "litgpt"}
			if adapters {
				fields["lora"] = map[string]any{"rank": 8.0, "targets": []any{"all-linear"}}
			}
			if _, err := Figures(named(t, fields), gpu.Card{}); err != nil {
				t.Errorf("%v tokens, adapters %v: %v", seq, adapters, err)
			}
		}
	}
}

// TestLitGPTValidates checks that an evaluation computes the logits of whole batches, while training uses chunks.
func TestLitGPTValidates(t *testing.T) {
	at := func(keeps bool) *Answer {
		a, err := Figures(named(t, map[string]any{
			"model": map[string]any{"name": "tinyllama-1.1b"}, "batch": 1.0, "seq": 256.0, "precision": "bf16", "loop": "litgpt",
			"lora":       map[string]any{"rank": 8.0, "targets": []any{"q_proj"}},
			"evaluation": map[string]any{"batch": 16.0, "every": 1.0, "keeps_logits": keeps},
		}), gpu.Card{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	const logits = 16 * 256 * 32000 * 4 // in float32
	kept, passing := at(true), at(false)
	if more := kept.PeakAllocated - passing.PeakAllocated; more < logits {
		t.Errorf("keeping logits of %d bytes takes %d more", logits, more)
	}
	if passing.PeakAllocated < 3*logits { // the logits, their shifted copy and the log softmax
		t.Errorf("an evaluation takes %d bytes", passing.PeakAllocated)
	}
}

// TestLitGPTUnties checks that LitGPT's model has a separate head if transformers' is tied to the embeddings.
func TestLitGPTUnties(t *testing.T) {
	s, err := setup.Decode(map[string]any{"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 1.0, "seq": 64.0, "precision": "bf16", "loop": "litgpt"}, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	card, err := gpu.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	a, err := Figures(s, card)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1235814400 + 128256*2048; a.Params != want {
		t.Errorf("%d parameters, want %d", a.Params, want)
	}
}
