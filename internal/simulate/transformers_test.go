// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"testing"

	"snug/internal/setup"
)

// What Mistral-7B with LoRA allocated at its peak on an A100 under two releases of transformers, at two
// batches of 4096 tokens (foundation-model-stack/fms-acceleration, scripts/benchmarks/refs/a100_80gb.csv, at
// 9239802 and 24bdadb). Between them the loss moved out of the model's forward, and the 16-bit logits
// stay beside the float32 ones: 1.0 GB at a batch of 4, of which a tenth would be seen.
func TestCausalLossByRelease(t *testing.T) {
	for _, c := range []struct {
		transformers string
		batch        int
		allocated    float64
	}{
		{"4.45", 4, 25653881344},
		{"4.45", 8, 36643613184},
		{"4.48", 4, 26704571904},
		{"4.48", 8, 38742912512},
	} {
		got := float64(peakOff(t, mistralLora(c.batch, c.transformers), nil, 0))
		if off := math.Abs(got/c.allocated - 1); off > 0.002 {
			t.Errorf("transformers %s, batch %d: %.0f bytes, measured %.0f", c.transformers, c.batch, got, c.allocated)
		}
	}
}

// From 4.49 logits are not copied: two float32 ones less a token, and the 16-bit ones stay.
func TestCausalLossPadsLabels(t *testing.T) {
	was, is := peakOff(t, mistralLora(4, "4.48"), nil, 0), peakOff(t, mistralLora(4, "4.49"), nil, 0)
	if newest := peakOff(t, mistralLora(4, ""), nil, 0); is != newest {
		t.Errorf("4.49 takes %d bytes, the newest %d", is, newest)
	}
	if was <= is {
		t.Errorf("4.48 takes %d bytes, 4.49 %d", was, is)
	}
}

func mistralLora(batch int, transformers string) *setup.Setup {
	none := false
	return &setup.Setup{
		Model: setup.Model{Config: map[string]any{"model_type": "mistral", "sliding_window": nil}, Head: "causal-lm"},
		Batch: batch, Seq: 4096, Precision: "bf16", Optimizer: "adamw", Attention: "flash", AttentionMask: &none,
		Checkpointing: true, Clip: true, Steps: 2, Versions: setup.Versions{Transformers: transformers},
		LoRA: &setup.LoRA{Rank: 16, Targets: []string{"q_proj", "k_proj", "v_proj", "o_proj"}, PEFT: true, Dropout: 0.1},
	}
}
