// SPDX-License-Identifier: Apache-2.0

package family

import (
	"strings"
	"testing"

	"snug/internal/kernel"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// torchvisionParams are the numbers of parameters that torchvision 0.26 states for its weights.
var torchvisionParams = map[string]int{
	"resnet18": 11689512, "resnet34": 21797672, "resnet50": 25557032, "resnet101": 44549160, "resnet152": 60192808,
	"convnext_tiny": 28589128, "convnext_small": 50223688, "convnext_base": 88591464, "convnext_large": 197767336,
}

func TestTorchvisionParameters(t *testing.T) {
	if len(torchvisionParams) != len(torchvision) {
		t.Errorf("%d models have a parameter count here, %d are known", len(torchvisionParams), len(torchvision))
	}
	for name, want := range torchvisionParams {
		b := &nn.Builder{W: shadow.NewWorld(kernel.Rules{}), DType: shadow.Float32}
		if _, err := Named(b, "torchvision/"+name, Run{Shape: &Shape{Batch: 1}}); err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, p := range b.Parameters() {
			got += p.Numel()
		}
		if got != want {
			t.Errorf("%s has %d parameters, want %d", name, got, want)
		}
	}
}

// TestTorchvisionRuns checks that every model runs forward and backward in every precision, and that every parameter
// gets a gradient.
func TestTorchvisionRuns(t *testing.T) {
	for name := range torchvision {
		for _, weights := range []shadow.DType{shadow.Float32, shadow.BFloat16} {
			for _, cast := range []shadow.DType{shadow.None, shadow.BFloat16, shadow.Float16} {
				w := shadow.NewWorld(kernel.Rules{Torch: 211, Capability: 90, SMs: 132})
				b := &nn.Builder{W: w, DType: weights}
				m, err := Named(b, "torchvision/"+name, Run{Shape: &Shape{Batch: 3}})
				if err != nil {
					t.Fatal(err)
				}
				batch := m.Batch()
				var loss *shadow.Tensor
				w.Autocast(cast, func() { loss = m.Loss(batch).Hold() })
				loss.Backward()
				for _, p := range b.Parameters() {
					if p.Grad() == nil {
						t.Errorf("%s, %v under %v: %s has no gradient", name, weights, cast, p.Name())
					}
				}
			}
		}
	}
}

func TestNamedUnknown(t *testing.T) {
	for _, name := range []string{"torchvision/resnet19", "resnet50", "timm/resnet50", "torchvision/"} {
		b := &nn.Builder{W: shadow.NewWorld(kernel.Rules{}), DType: shadow.Float32}
		_, err := Named(b, name, Run{Shape: &Shape{Batch: 1}})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "torchvision/resnet50") {
			t.Errorf("Named(%q): %v; want an error with the name and the known names", name, err)
		}
	}
}
