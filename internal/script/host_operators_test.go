// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"testing"
)

// TestHostOperators checks shapes and dtypes of tensors in host memory by their size on the card.
func TestHostOperators(t *testing.T) {
	for code, want := range map[string]uint64{
		"(torch.rand(6, 4) > 0.7).float()":                                    96,
		"torch.rand(6, 4) > 0.7":                                              24,
		"torch.where(torch.rand(6, 4) < 0.1, torch.randint(9, (6, 4)), -100)": 192,
		"torch.rand(6, 1) * torch.rand(1, 4)":                                 96,
		"torch.randint(9, (6, 4)) / 2":                                        96,
	} {
		sizes, notes := allocations(t, "import torch\nx = ("+code+").cuda()\n")
		if !slices.Equal(sizes, []uint64{want}) || len(notes) > 0 {
			t.Errorf("%s takes %v on the card, want %d; notes %q", code, sizes, want, notes)
		}
	}
}

// TestDeviceType checks that a condition on a device's type is evaluated.
func TestDeviceType(t *testing.T) {
	sizes, notes := allocations(t, "import torch\nd = torch.device('cuda:0')\nif d.type == 'cuda':\n    x = torch.zeros(8, device=d)\n")
	if !slices.Equal(sizes, []uint64{32}) || len(notes) > 0 {
		t.Errorf("allocations %v, notes %q", sizes, notes)
	}
}
