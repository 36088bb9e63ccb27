// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// Positions of tokens in text and images, as Qwen2-VL computes them: (3, B, S). Each sample is assumed to begin with a
// few tokens of text; its images are separated by two.

const (
	tokensBefore  = 4 // before the first image, if there is room
	tokensBetween = 2 // vision_end and vision_start
)

// groups returns how many tokens each run of text and of images has, alternating, text first.
func (i Images) groups(seq, each int) []int {
	before := tokensBefore
	if seq < before+i.Count*(each+tokensBetween) {
		before = 1
	}
	out := []int{before}
	left := seq - before
	for k := range i.Count {
		out = append(out, each, tokensBetween)
		left -= each + tokensBetween
		if k == i.Count-1 {
			out[len(out)-1] += left
		}
	}
	return out
}

// positions3D is compute_3d_position_ids and get_rope_index.
func (m *qwenVL) positions3D(b Batch) *shadow.Tensor {
	fn := m.w.Func(b.IDs, b.Kinds, b.Grid, b.Mask)
	B, S := b.IDs.Size(0), b.IDs.Size(1)
	pos := fn.Let(m.w.Full(shadow.Int64, 3, B, S))
	var ids, kinds, at *shadow.Tensor
	var list, deltas []*shadow.Tensor
	var vision, all *shadow.Tensor
	for i := range B {
		fn.Set(&ids, b.IDs.Select(0, i))
		fn.Set(&kinds, b.Kinds.Select(0, i))
		if b.Mask != nil {
			fn.Set(&ids, m.unmasked(ids, b.Mask))
			fn.Set(&kinds, m.unmasked(kinds, b.Mask))
		}
		fn.Set(&at, nil)
		for _, t := range list {
			t.Drop()
		}
		list = list[:0]
		for k, n := range m.run.Images.groups(S, m.imageTokens()) {
			if k%2 == 0 {
				list = append(list, m.textPositions(n).Hold())
				continue
			}
			fn.Set(&vision, m.visionPositions(at))
			list = append(list, vision.Hold())
			fn.Set(&at, m.after(at, b.Grid.Select(0, i)))
		}
		fn.Set(&all, shadow.Cat(1, list...).Reshape(3, -1))
		if b.Mask != nil {
			chosen := b.Mask.Select(0, i).To(shadow.Bool).Hold()
			row := pos.Select(1, i).Hold()
			row.PutMasked(chosen)
			row.Drop()
			chosen.Drop()
		}
		deltas = append(deltas, all.Max().AddScalar().AddScalar().Hold())
	}
	old := m.deltas
	m.deltas = m.w.Full(shadow.Int64, B).Hold()
	for _, t := range append(list, deltas...) {
		t.Drop()
	}
	old.Drop()
	return fn.Return(pos)
}

// imageTokens returns the tokens of one image.
func (m *qwenVL) imageTokens() int {
	_, h, w := m.images()
	return h * w / (m.merge * m.merge)
}

// unmasked is x[mask[i].bool()].
func (m *qwenVL) unmasked(x, mask *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(x)
	chosen := fn.Let(mask.Select(0, 0).To(shadow.Bool))
	return fn.Return(x.Masked(chosen))
}

// textPositions numbers n tokens of text, starting at the current position.
func (m *qwenVL) textPositions(n int) *shadow.Tensor {
	return m.w.Arange(n).View(1, -1).Expand(3, -1).AddScalar() // (3, n)
}

// visionPositions is Qwen2VLModel.get_vision_position_ids.
func (m *qwenVL) visionPositions(at *shadow.Tensor) *shadow.Tensor {
	_, h, w := m.images()
	h, w = h/m.merge, w/m.merge
	fn := m.w.Func(at)
	times := fn.Let(m.w.Arange(1).MulScalar())
	rows := fn.Let(m.w.Arange(h).AddScalar())
	columns := fn.Let(m.w.Arange(w).AddScalar())
	return fn.Return(shadow.Stack(0, times.View(-1, 1, 1).Expand(1, h, w), rows.View(1, -1, 1).Expand(1, h, w), columns.View(1, 1, -1).Expand(1, h, w)).View(3, -1))
}

// after advances the position past an image, by the longer of its sides. The first sum is a new tensor; later ones are
// computed in place.
func (m *qwenVL) after(at, size *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(at, size)
	shadow.Item(size.Select(0, 1).CompareWith("gt", size.Select(0, 2)))
	step := fn.Let(size.Select(0, 1).FloorDivide())
	if at != nil {
		return fn.Return(at)
	}
	return fn.Return(step.AddScalar())
}
