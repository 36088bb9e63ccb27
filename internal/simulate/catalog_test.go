// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"snug/internal/catalog"
	"snug/internal/setup"
)

// TestCatalogParameters builds every model in the catalog and compares its parameter count with the published
// one.
func TestCatalogParameters(t *testing.T) {
	named := map[string]int{
		"torchvision/resnet18": 11689512, "torchvision/resnet34": 21797672, "torchvision/resnet50": 25557032,
		"torchvision/resnet101": 44549160, "torchvision/resnet152": 60192808,
		"torchvision/convnext_tiny": 28589128, "torchvision/convnext_small": 50223688,
		"torchvision/convnext_base": 88591464, "torchvision/convnext_large": 197767336,
	}
	for _, name := range slices.Concat(catalog.Names(), variants(t)) {
		named[name] = catalog.Find(name).Params
	}
	for name, want := range named {
		t.Run(name, func(t *testing.T) {
			fields := map[string]any{"model": map[string]any{"name": name}, "batch": 1.0}
			if !strings.HasPrefix(name, "torchvision/") && !strings.Contains(name, "vit-") {
				fields["seq"] = 16.0 // length in tokens, which image models do not have
			}
			s, err := setup.Decode(fields, setup.Source{})
			if err != nil {
				t.Fatal(err)
			}
			s.Steps = 0
			r, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Params != want {
				t.Errorf("%d parameters, want %d", r.Params, want)
			}
		})
	}
}

// variants returns the catalog's models that share a config with another model.
func variants(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("../catalog/variants.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		var v struct {
			Hub string `json:"hub"`
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v.Hub)
	}
	if len(out) < 100 {
		t.Fatalf("only %d variants", len(out))
	}
	return out
}
