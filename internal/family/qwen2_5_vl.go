// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Qwen2.5-VL: transformers/models/qwen2_5_vl/modular_qwen2_5_vl.py. It is Qwen2-VL with another vision tower: gated MLPs,
// RMS norms, and attention within windows in most blocks.

func newQwen25VL(b *nn.Builder, c *Config, run Run) (Model, error) {
	v := c.within("vision_config")
	m := &qwenVL{visual: newQwenVisual(b, v, run, qwenTower{
		width: v.Positive("hidden_size", 3584), out: v.Positive("out_hidden_size", 3584), depth: 32,
	})}
	width, inter := m.visual.width, v.Positive("intermediate_size", 3420)
	act := v.activation("hidden_act", "silu")
	full := v.Ints("fullatt_block_indexes")
	if full == nil {
		full = []int{7, 15, 23, 31}
	}
	m.visual.windows = &qwenWindows{side: v.Positive("window_size", 112) / m.visual.merge / m.visual.patch.side, full: full}
	if m.visual.windows.side < 1 {
		v.fail("window_size", "at least the side of a token, patch_size times spatial_merge_size")
		m.visual.windows.side = 1
	}
	m.visual.build(b, v, func(at string) shadow.Module { return newRMSNorm(b, run, at, width) },
		func(at string) shadow.Module { return newLlamaMLP(b, run, at, width, inter, true, act) })
	m.text(b, c, run)
	return m, nil
}

// qwenWindows describes which patches attend to each other.
type qwenWindows struct {
	side    int   // of a window, in tokens
	full    []int // blocks whose attention covers the whole image
	cu      *shadow.Tensor
	lengths []int
}

// divide returns the number of patches in each window of an image, in order, and the number of windows including empty
// ones: a side that is a multiple of the window is still padded, by a whole window.
func (x *qwenWindows) divide(h, w, merge int) (lengths []int, all int) {
	h, w = h/merge, w/merge
	rows, columns := h/x.side+1, w/x.side+1
	for i := range rows {
		for j := range columns {
			if n := min(x.side, h-i*x.side) * min(x.side, w-j*x.side); n > 0 {
				lengths = append(lengths, n*merge*merge)
			}
		}
	}
	return lengths, rows * columns
}

// create is get_vision_window_index. The indices of windows stay on the host.
func (x *qwenWindows) create(fn *shadow.Frame, v *qwenVisual, images, h, w int) {
	one, all := x.divide(h, w, v.merge)
	x.lengths = slices.Repeat(one, images)
	v.w.Local(&x.cu)
	x.cu = fn.Let(v.w.Full(shadow.Int32, images*all+1).UniqueConsecutive(len(x.lengths) + 1))
}

// permuted is permute_input_for_window_attn.
func (v *qwenVisual) permuted(x *shadow.Tensor) *shadow.Tensor {
	fn := v.w.Func(x)
	n, unit := x.Size(0), v.merge*v.merge
	fn.Set(&x, x.Reshape(n/unit, unit, -1))
	fn.Set(&x, x.RowsByHost(n/unit))
	fn.Set(&x, x.Reshape(n, -1))
	return fn.Return(x)
}
