// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math"
	"testing"

	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/simulate"
)

// h200 is the card that the constants were calibrated on.
var h200 = Rates{Bandwidth: 4.8e12, Half: 989e12, TF32: 494e12, Single: 67e12, SMs: 132}

// TestWrittenMicroBatches compares the time of a run with copied micro-batches to one that is simulated in full
// because it writes a log.
func TestWrittenMicroBatches(t *testing.T) {
	for _, model := range []string{"gpt2", "torchvision/resnet18"} {
		for _, accumulation := range []int{1, 2} {
			fields := map[string]any{
				"model": map[string]any{"name": model}, "batch": 2.0, "precision": "amp-fp16", "clip": true,
				"accumulation": float64(accumulation),
			}
			if model == "gpt2" {
				fields["seq"] = 128.0
			}
			s, err := setup.Decode(fields, setup.Source{})
			if err != nil {
				t.Fatal(err)
			}
			written, ran := &Tape{}, &Tape{}
			if _, err := simulate.Run(s, simulate.Options{Watch: written}); err != nil {
				t.Fatal(err)
			}
			if _, err := simulate.Run(s, simulate.Options{Watch: ran, Log: func(*shadow.World, string) {}}); err != nil {
				t.Fatal(err)
			}
			got, want := written.Seconds(h200, accumulation), ran.Seconds(h200, accumulation)
			if math.Abs(got-want) > 1e-9 || want <= 0 {
				t.Errorf("%s, accumulation %d: %v s copied, %v s simulated", model, accumulation, got, want)
			}
		}
	}
}
