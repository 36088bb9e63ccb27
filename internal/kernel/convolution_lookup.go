// SPDX-License-Identifier: Apache-2.0

package kernel

import "slices"

// ConvWorkspace is the workspace of one convolution by batch size.
type ConvWorkspace []BatchBytes

// At returns the workspace at a batch size, measured or interpolated.
func (w ConvWorkspace) At(batch int) uint64 {
	if len(w) == 0 {
		return 0
	}
	return workspaceAt(w, batch)
}

// ConvSizes describes a convolution by the sizes of its tensors in elements. Zero means unknown.
type ConvSizes struct {
	In     int // elements of one input image
	Out    int // elements of one output image
	Weight int // elements of the weight
}

// ConvShape is a convolution whose workspaces were measured.
type ConvShape struct{ shape convShape }

// MeasuredConvs returns the measured convolutions with these sizes, in a fixed order.
func MeasuredConvs(s ConvSizes) []ConvShape {
	var out []ConvShape
	for _, shape := range measuredWorkspaces().like(s) {
		out = append(out, ConvShape{shape})
	}
	return out
}

// Sizes returns the sizes of the convolution's tensors.
func (c ConvShape) Sizes() ConvSizes { return c.shape.sizes() }

// Workspace returns the measured workspace of a kind of product with the given element size, or nil. half selects
// float16 instead of bfloat16 if they differ.
func (c ConvShape) Workspace(kind ConvKind, elementBytes int, half bool) ConvWorkspace {
	table := measuredWorkspaces()
	if elementBytes != 2 {
		return table.points(convCall{kind, Float32, c.shape})
	}
	if half {
		if points := table.points(convCall{kind, Float16, c.shape}); points != nil {
			return points
		}
	}
	return table.points(convCall{kind, BFloat16, c.shape})
}

// like returns the shapes with these sizes, channels first before channels last.
func (t *convTable) like(s ConvSizes) []convShape {
	if s.In > 0 {
		return t.bySizes[s]
	}
	var out []convShape
	for have, shapes := range t.bySizes {
		if s.fits(have) {
			out = append(out, shapes...)
		}
	}
	slices.SortFunc(out, convShape.compare)
	return out
}

func (s ConvSizes) fits(o ConvSizes) bool {
	return (s.In == 0 || s.In == o.In) && (s.Out == 0 || s.Out == o.Out) && (s.Weight == 0 || s.Weight == o.Weight)
}

func (c convShape) sizes() ConvSizes {
	out := c.out()
	return ConvSizes{
		In: c.channels * c.size.H * c.size.W, Out: c.filters * out.H * out.W,
		Weight: c.filters * c.channels / c.groups * c.kernel.H * c.kernel.W,
	}
}

// out returns the size of the output.
func (c convShape) out() Pair {
	along := func(in, kernel, stride, padding, dilation int) int {
		return (in+2*padding-dilation*(kernel-1)-1)/stride + 1
	}
	return Pair{
		along(c.size.H, c.kernel.H, c.stride.H, c.padding.H, c.dilation.H),
		along(c.size.W, c.kernel.W, c.stride.W, c.padding.W, c.dilation.W),
	}
}

// compare returns a negative, zero or positive number, for sorting shapes.
func (c convShape) compare(d convShape) int {
	key := func(c convShape) []int {
		last := 0
		if c.last {
			last = 1
		}
		return []int{last, c.channels, c.size.H, c.size.W, c.filters, c.kernel.H, c.kernel.W, c.stride.H, c.stride.W, c.padding.H, c.padding.W, c.dilation.H, c.dilation.W, c.groups}
	}
	return slices.Compare(key(c), key(d))
}
