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

// TestPooledFeatures checks the shapes of timm's models with each kind of pooling.
func TestPooledFeatures(t *testing.T) {
	for args, want := range map[string]uint64{
		"'resnet18', num_classes=0, global_pool=''":         16384, // (2, 512, 2, 2)
		"'resnet18', num_classes=5, global_pool='max'":      40,
		"'convnext_atto', num_classes=0, global_pool=''":    10240, // (2, 320, 2, 2)
		"'convnext_atto', num_classes=5, global_pool=''":    160,   // the last layer is a convolution
		"'convnext_atto', num_classes=0, global_pool='avg'": 2560,
	} {
		sizes, _ := allocationsOf(t, "import timm, torch\nm = timm.create_model("+args+").cuda()\ny = m(torch.zeros(2, 3, 64, 64).cuda())\nz = torch.zeros(y.shape).cuda()\n", Run{Batch: 2})
		if len(sizes) == 0 || sizes[len(sizes)-1] != want {
			t.Errorf("%s: the features take %d bytes, want %d", args, sizes[max(len(sizes)-1, 0):], want)
		}
	}
}

// TestFeaturePyramid checks the levels of torchvision's feature pyramid, as PyTorch allocates them.
func TestFeaturePyramid(t *testing.T) {
	sizes, notes := allocationsOf(t, `
import torch
from torchvision.ops import FeaturePyramidNetwork, FrozenBatchNorm2d
from torchvision.ops.feature_pyramid_network import LastLevelP6P7
norm = FrozenBatchNorm2d(64).cuda()
fpn = FeaturePyramidNetwork([64, 128], 256, LastLevelP6P7(256, 256)).cuda()
x = {"0": norm(torch.zeros(8, 64, 16, 16).cuda()), "1": torch.zeros(8, 128, 8, 8).cuda()}
for level in fpn(x).values():
    torch.zeros(level.shape, device="cuda")
`, Run{Batch: 8})
	want := []uint64{2097152, 524288, 131072, 32768}
	if len(sizes) < 4 || !slices.Equal(sizes[len(sizes)-4:], want) || len(notes) > 0 {
		t.Errorf("the levels take %v, want %v; notes %q", sizes, want, notes)
	}
}

// TestInsert checks the order of the items that methods of lists and queues leave.
func TestInsert(t *testing.T) {
	for code, want := range map[string]uint64{
		"l.insert(0, 7)\nx = l[0]":  28,
		"l.insert(-1, 7)\nx = l[2]": 28,
		"l.insert(9, 7)\nx = l[3]":  28,
		"l.reverse()\nx = l[0]":     12,
		"x = l.pop(-2)":             8,
		"x = l.pop(0)":              4,
		"x = l.pop()":               12,
		"q = deque(l, maxlen=3)\nq.appendleft(7)\nx = q[0] + q[-1]": 36,
	} {
		sizes, notes := allocations(t, "import torch\nfrom collections import deque\nl = [1, 2, 3]\n"+code+"\ny = torch.zeros(x, device='cuda')\n")
		if !slices.Equal(sizes, []uint64{want}) || len(notes) > 0 {
			t.Errorf("%s: the tensor takes %v, want %d; notes %q", code, sizes, want, notes)
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
