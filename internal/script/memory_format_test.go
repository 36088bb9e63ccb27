// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"testing"
)

// TestMemoryFormats checks what operations on images with the channels last allocate; the figures are PyTorch 2.11's.
func TestMemoryFormats(t *testing.T) {
	const first = `
import torch
import torch.nn.functional as F
L = torch.channels_last
a = torch.empty(8, 64, 384, 384, device='cuda').to(memory_format=L)
b = torch.empty(8, 128, 384, 384, device='cuda').contiguous(memory_format=L)
c = torch.empty(8, 64, 384, 384, device='cuda')
x = torch.empty(8, 3, 384, 384, device="cuda").contiguous(memory_format=L)
h = torch.empty(8, 3, 384, 384)
t = torch.empty(8, 384, 384, dtype=torch.long, device='cuda')
`
	before, _ := allocations(t, first)
	for code, want := range map[string][]uint64{
		"a.sum((0, 2, 3))":         {256, 34603008, 4},
		"b[:, 64:].sum((0, 2, 3))": {256, 34603008, 4},
		"c.sum((0, 2, 3))":         {256, 2304, 256},
		"x.softmax(1)":             {14155776, 14155776},
		"F.cross_entropy(x, t)":    {14155776, 14155776, 4, 4},
		"F.pad(b[:, 64:], [0, 0, 0, 0]).contiguous(memory_format=L)":     {301989888},
		"h.to('cuda', memory_format=L)":                                  {14155776, 14155776},
		"h.to('cuda', dtype=torch.float16, memory_format=L)":             {7077888, 7077888},
		"h[:, :1].to('cuda', memory_format=L)":                           {4718592},
		"x.to(memory_format=L)":                                          nil,
		"h.to(memory_format=L)":                                          nil,
		"h.to(memory_format=L).to('cuda')":                               {14155776},
		"torch.nn.Conv2d(64, 64, 3).to('cuda', memory_format=L)":         {147456, 147456, 256},
		"torch.nn.Conv2d(64, 64, 3).cuda().to(memory_format=L)":          {147456, 256, 147456},
		"torch.nn.Conv2d(64, 64, 1).to(memory_format=L).to('cuda').bias": {16384, 256},
	} {
		sizes, notes := allocations(t, first+"y = "+code+"\n")
		if !slices.Equal(sizes[len(before):], want) || len(notes) > 0 {
			t.Errorf("%s allocates %v, want %v; notes %q", code, sizes[len(before):], want, notes)
		}
	}
}
