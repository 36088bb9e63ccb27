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

// TestArrays checks NumPy's arrays by their size on the card, and that slices of narrow integers keep their length.
func TestArrays(t *testing.T) {
	image := "np.random.randint(0, 255, (4, 6, 8, 3), dtype=np.uint8)"
	for code, want := range map[string]uint64{
		"np.zeros(64, dtype=np.int16)":                                           128,
		"np.random.randint(0, 9, size=500).astype(np.uint16)[:64]":               128,
		"np.zeros(64).astype('int8')":                                            64,
		"np.ascontiguousarray(" + image + "[1][:, ::-1])":                        144,
		"np.copy(" + image + ")":                                                 576,
		"np.flip(" + image + ", 0)":                                              576,
		"np.moveaxis(" + image + ", 3, 1)[:, :2]":                                384,
		"np.swapaxes(" + image + ", 0, 1)[0]":                                    96,
		"np.ravel(" + image + ")[5:]":                                            571,
		"np.multiply(np.zeros((3, 1)), np.zeros((1, 5)))":                        120,
		"np.zeros(8, np.int16)[torch.randint(2, (1,))[0]:][:2].astype(np.uint8)": 2,
	} {
		sizes, notes := allocations(t, "import numpy as np, torch\nx = torch.from_numpy("+code+").cuda()\n")
		if !slices.Equal(sizes, []uint64{want}) || len(notes) > 0 {
			t.Errorf("%s takes %v on the card, want %d; notes %q", code, sizes, want, notes)
		}
	}
	for method, want := range map[string]uint64{"short": 16, "char": 8, "byte": 8, "int": 32} {
		sizes, notes := allocations(t, "import torch\nx = torch.zeros(8)."+method+"().cuda()\n")
		if !slices.Equal(sizes, []uint64{want}) || len(notes) > 0 {
			t.Errorf("%s() makes %v, want %d; notes %q", method, sizes, want, notes)
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
