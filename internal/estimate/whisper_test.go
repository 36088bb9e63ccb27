// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// TestWhisperMeasured compares whisper-tiny with whole runs on an H200, which were measured as steps of an unknown model.
// Both peaks are exact, so the workspaces of its convolutions are too.
func TestWhisperMeasured(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "testdata", "measured", "more_ladder.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	card, err := gpu.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	runs := 0
	for sc.Scan() {
		var row struct {
			Setup    map[string]any
			Measured struct {
				Allocated uint64 `json:"peak_allocated"`
				Reserved  uint64 `json:"peak_reserved"`
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		id, _ := row.Setup["id"].(string)
		if !strings.HasPrefix(id, "whisper-tiny") {
			continue
		}
		runs++
		row.Setup["model"] = map[string]any{"name": "whisper-tiny"}
		s, err := setup.Decode(row.Setup, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Figures(s, card)
		if err != nil {
			t.Fatal(err)
		}
		if a.PeakAllocated != row.Measured.Allocated || a.PeakReserved != row.Measured.Reserved {
			t.Errorf("%s: %d allocated and %d reserved, measured %d and %d", id, a.PeakAllocated, a.PeakReserved, row.Measured.Allocated, row.Measured.Reserved)
		}
	}
	if err := sc.Err(); err != nil || runs != 4 {
		t.Fatalf("%d runs of four: %v", runs, err)
	}
}

// TestWhisperTrainer compares two steps of transformers' Trainer with the same on the stand-in for a GPU: the outputs of
// the model, with the encoder's states and a cache, exist until the loss is computed.
func TestWhisperTrainer(t *testing.T) {
	card, err := gpu.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	for checkpointing, want := range map[bool]float64{false: 3354947072, true: 2202834944} {
		s, err := setup.Decode(map[string]any{
			"model": map[string]any{"config": map[string]any{
				"model_type": "whisper", "d_model": 768.0, "encoder_layers": 4.0, "decoder_layers": 4.0, "encoder_attention_heads": 12.0, "decoder_attention_heads": 12.0,
				"encoder_ffn_dim": 3072.0, "decoder_ffn_dim": 3072.0,
			}},
			"batch": 4.0, "seq": 225.0, "precision": "amp-bf16", "clip": true, "loop": "trainer", "steps": 2.0, "checkpointing": checkpointing,
		}, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := tryAs(s, spread(card, s), maxTried, simulate.Options{Standin: true})
		if err != nil {
			t.Fatal(err)
		}
		if off := float64(a.PeakAllocated)/want - 1; math.Abs(off) > 0.001 {
			t.Errorf("checkpointing %t: %d bytes allocated, recorded %.0f (%+.3f %%)", checkpointing, a.PeakAllocated, want, 100*off)
		}
	}
}
