// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"math"
	"slices"
	"testing"
)

// everyNth lists every nth measured shape with square images and channels first, in order.
func everyNth(n int) (out []convShape) {
	var all []convShape
	for _, shapes := range measuredWorkspaces().bySizes {
		all = append(all, shapes...)
	}
	slices.SortFunc(all, convShape.compare)
	for i := 0; i < len(all); i += n {
		if c := all[i]; !c.last && c.size.H == c.size.W && c.size.H > 1 && c.kernel.H == c.kernel.W && c.dilation == square(1) && (c.groups == 1 || c.groups < c.channels) {
			out = append(out, c)
		}
	}
	return out
}

// TestGuessConv checks that sizes alone nearly always identify a convolution with the usual padding. Filters of even size
// have the sizes of others: 2x2 by 2 looks like 1x1 on an image of half the side.
func TestGuessConv(t *testing.T) {
	right, all := 0, 0
	for _, c := range everyNth(7) {
		if c.kernel.H%2 == 0 || c.padding != square(c.kernel.H/2) {
			continue
		}
		all++
		if got, ok := GuessConv(c.sizes()); ok && got.shape.channels == c.channels && got.shape.filters == c.filters && got.shape.kernel == c.kernel && got.shape.stride == c.stride {
			right++
		}
	}
	if float64(right) < 0.9*float64(all) {
		t.Errorf("guessed only %d of %d", right, all)
	}
	if _, ok := GuessConv(ConvSizes{In: 7919, Out: 104729, Weight: 31}); ok {
		t.Error("a convolution was guessed from prime sizes")
	}
}

// TestNear checks that without a convolution's own measurements, similar ones predict its workspace at a large
// batch.
func TestNear(t *testing.T) {
	for kind, share := range map[ConvKind]float64{FProp: 0.85, DGrad: 0.85, WGrad: 0.65} {
		right, all := 0, 0
		for _, c := range everyNth(29) {
			shape := ConvShape{c}
			points := shape.Workspace(kind, 2, false)
			if points == nil || points[len(points)-1].Batch < 96 {
				continue
			}
			seen := []BatchBytes{{4, points.At(4)}, {6, points.At(6)}}
			got := shape.near(kind, 2, false, seen, c)
			if got == nil {
				continue
			}
			all++
			off := math.Abs(float64(got.At(96)) - float64(points.At(96)))
			if off < 0.02*float64(c.bytes(2, 96).tensors) {
				right++
			}
		}
		if all < 20 || float64(right) < share*float64(all) {
			t.Errorf("%s: only %d of %d are right", kind, right, all)
		}
		t.Logf("%s: %d of %d", kind, right, all)
	}
}

// TestCarry checks that copies are scaled and partial sums are kept.
func TestCarry(t *testing.T) {
	small := convShape{channels: 64, filters: 64, size: square(8), kernel: square(3), stride: square(1), padding: square(1), dilation: square(1), groups: 1}
	large := small
	large.size = square(16)
	from, to := small.bytes(2, 4), large.bytes(2, 4)
	if from.copies != 2*(2*4*64*64+64*64*9) {
		t.Errorf("copies take %d", from.copies)
	}
	for _, c := range []struct {
		name    string
		kind    ConvKind
		n, want uint64
	}{
		{"a few numbers", FProp, 272, 272},
		{"copies", FProp, from.copies + 16, to.copies + 16},
		{"copies and sums", WGrad, from.copies + 1<<20, to.copies + 1<<20},
		{"a sum for each image", WGrad, from.parts + 272, to.parts + 272},
	} {
		if got := from.carry(to, c.kind, c.n); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestSimilar checks that without a convolution's own measurements, similar ones give a better guess than copies of all
// tensors, and an upper bound that holds for 19 in 20.
func TestSimilar(t *testing.T) {
	table := measuredWorkspaces()
	for _, dt := range []Type{Float32, BFloat16} {
		for _, kind := range []ConvKind{FProp, DGrad, WGrad} {
			var copied, guessed float64
			runs, above := 0, 0
			for _, c := range everyNth(23) {
				call := convCall{kind, dt, c}
				points, similar := table.workspace(call), table.search(call, c)
				if points == nil || len(similar) == 0 || c.groups > 1 {
					continue
				}
				n, most := guess(similar, 64)
				whole := Conv{Kind: kind, Type: dt, Batch: 64, Channels: c.channels, Filters: c.filters, Size: c.size, Kernel: c.kernel, Stride: c.stride.H, Padding: c.padding.H, Groups: 1}
				measured, tensors := float64(points.At(64)), float64(c.bytes(dt.Bytes(), 64).tensors)
				copied += math.Abs(float64(whole.copies())-measured) / tensors
				guessed += math.Abs(float64(n)-measured) / tensors
				if runs++; measured > float64(most)+0.02*tensors {
					above++
				}
			}
			if guessed > copied/2 || 20*above > runs {
				t.Errorf("%v, %v: errors of %.1f, of copies %.1f; %d of %d above the bound", dt, kind, guessed, copied, above, runs)
			}
		}
	}
}
