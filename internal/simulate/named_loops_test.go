// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"strings"
	"testing"

	"snug/internal/setup"
)

// decoded returns the setup that a file with these fields describes.
func decoded(t *testing.T, fields map[string]any) (*setup.Setup, error) {
	t.Helper()
	return setup.Decode(fields, setup.Source{})
}

// TestTimmLoop compares the loop named timm with an equivalent measured program that trains a ResNet.
func TestTimmLoop(t *testing.T) {
	for _, p := range programs(t, "measured_libraries.jsonl") {
		if p.ID != "timm-resnet50" {
			continue
		}
		s, err := decoded(t, map[string]any{
			"model": map[string]any{"name": "torchvision/resnet50"}, "batch": 64.0, "optimizer": "sgd-momentum", "loop": "timm",
			"evaluation": map[string]any{"batches": 2.0},
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if off := float64(played(t, res).PeakReserved)/float64(p.Measured.Reserved) - 1; math.Abs(off) > 0.001 || len(s.Script.Notes()) > 0 {
			t.Errorf("it is off by %+.2f %%; notes %q", 100*off, s.Script.Notes())
		}
	}
	if _, err := decoded(t, map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 2.0, "loop": "timm"}); err == nil {
		t.Error("a text model is trained by timm")
	}
}

// TestNanoGPTByName checks that GPT-2 in nanoGPT's loop is nanoGPT's GPT-2, and that other models are refused.
func TestNanoGPTByName(t *testing.T) {
	named, err := decoded(t, map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 2.0, "seq": 256.0, "loop": "nanogpt"})
	if err != nil {
		t.Fatal(err)
	}
	own, err := decoded(t, map[string]any{"batch": 2.0, "seq": 256.0, "model": map[string]any{"config": map[string]any{
		"model_type": "nanogpt", "n_layer": 12.0, "n_head": 12.0, "n_embd": 768.0, "block_size": 1024.0, "vocab_size": 50257.0, "bias": true,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var peaks [2]uint64
	for i, s := range []*setup.Setup{named, own} {
		res, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		peaks[i] = played(t, res).PeakReserved
	}
	if peaks[0] != peaks[1] {
		t.Errorf("GPT-2 by name reserves %d bytes, nanoGPT's %d", peaks[0], peaks[1])
	}
	_, err = decoded(t, map[string]any{"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 2.0, "seq": 256.0, "loop": "nanogpt"})
	if err == nil || !strings.Contains(err.Error(), "nanoGPT's own GPT") {
		t.Errorf("Llama in nanoGPT's loop: %v", err)
	}
}

// TestTorchtuneLoop compares the loop named torchtune with an equivalent measured program, and checks that a
// model without torchtune's modules is noted.
func TestTorchtuneLoop(t *testing.T) {
	fields := func(model string) map[string]any {
		return map[string]any{
			"model": map[string]any{"name": model}, "batch": 4.0, "seq": 1024.0, "precision": "bf16", "optimizer": "adamw-fused", "loop": "torchtune",
		}
	}
	for _, p := range programs(t, "measured_libraries.jsonl") {
		if p.ID != "tune-full-1b-fused" {
			continue
		}
		s, err := decoded(t, fields("llama-3.2-1b"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if off := float64(played(t, res).PeakReserved)/float64(p.Measured.Reserved) - 1; math.Abs(off) > 0.001 || len(s.Script.Notes()) > 0 {
			t.Errorf("it is off by %+.2f %%; notes %q", 100*off, s.Script.Notes())
		}
	}
	s, err := decoded(t, fields("gemma-2-2b"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(s, Options{}); err != nil {
		t.Fatal(err)
	}
	if notes := s.Script.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "torchtune: torchtune's own modules") {
		t.Errorf("notes %q", notes)
	}
}
