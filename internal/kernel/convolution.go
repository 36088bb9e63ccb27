// SPDX-License-Identifier: Apache-2.0

package kernel

// cuDNN's workspaces.
//
// For each convolution cuDNN's heuristics choose a kernel by shape, type, layout and card, and PyTorch allocates
// the workspace that the kernel requests from its caching allocator for the duration of the call. Recordings show
// what the workspace contains:
//
//   - Tensor core kernels need channels last, a multiple of eight of them in 16
//     bits and of four in float32. Images and weights in any other layout are copied into the workspace:
//     input, weight and output, and 16 bytes. A weight of one point needs no copy.
//   - A 1x1 convolution can run on channels first as one product per image: no
//     copies, but the weight's gradient then has one float32 part per image.
//   - If the output is small and the sum long, several blocks share it and
//     each leaves a float32 part. That is why weight gradients need more.
//   - Depthwise weight gradients keep one part per image, or in float32 copies
//     of both images. Most depthwise convolutions (all but float16 with channels first)
//     run in PyTorch's own kernels, which need no workspace.
//
// Which of these applies to a shape cannot be computed from outside, so it was measured: cudnn_workspaces.txt.
// All parts are constant or proportional to the batch, so between two measured sizes with the same kernel a
// straight line is exact. If the kernel changes between them, the larger of the two is used. convolution_table.go
// reads the table; convolution_near.go handles convolutions that are not in it.

// ConvKind is one of a convolution's three products.
type ConvKind int

// The three products, with cuDNN's names.
const (
	FProp ConvKind = iota // the output
	DGrad                 // the input's gradient
	WGrad                 // the weight's gradient
)

var convKinds = [...]string{"fprop", "dgrad", "wgrad"}

// String returns the name of the product.
func (k ConvKind) String() string { return convKinds[k] }

// Pair is a length in both dimensions of an image.
type Pair struct {
	H int // along height
	W int // along width
}

func square(n int) Pair { return Pair{n, n} }

// Conv is one of a convolution's products, over images in a batch.
type Conv struct {
	Kind                     ConvKind // which product
	Type                     Type     // element type
	Last                     bool     // channels last
	Batch, Channels, Filters int      // sizes; Channels is the number of input channels
	Size, Kernel             Pair     // size of an image, and of a filter
	Stride, Padding, Groups  int      // the same in both dimensions
	Dilation                 int      // the same in both dimensions; 0 means 1
	Wide                     Wide     // stride and padding along the width, if they are others
	Line                     bool     // signals of one dimension, which cuDNN sees as images of height 1
	Depth                    int      // frames, if one filter covers the whole of a small volume; 0 for images
	Volume                   Volume   // points of volumes, whose Size and Kernel are not set
}

// Volume describes a convolution of volumes by the number of their points.
type Volume struct {
	In, Out, Kernel int // points of an input, of an output and of a filter; 0 for images
}

// Wide is how a kernel moves along the width, if it moves otherwise along the height.
type Wide struct {
	Differs         bool // the other fields count
	Stride, Padding int  // along the width
}

// convCall is one of a convolution's products, without its batch size.
type convCall struct {
	kind  ConvKind
	dtype Type
	convShape
}

// convShape is a convolution without its batch size.
type convShape struct {
	last              bool // channels last
	channels, filters int
	size, kernel      Pair
	stride, padding   Pair
	dilation          Pair
	groups            int
}

func (c Conv) shape() convShape {
	s := convShape{
		last: c.Last, channels: c.Channels, filters: c.Filters, size: c.Size, kernel: c.Kernel,
		stride: square(c.Stride), padding: square(c.Padding), dilation: square(max(c.Dilation, 1)), groups: c.Groups,
	}
	if c.Wide.Differs {
		s.stride.W, s.padding.W = c.Wide.Stride, c.Wide.Padding
	}
	if c.Line {
		s.stride.H, s.padding.H = 1, 0
	}
	return s
}

// BatchBytes is a workspace at one batch size.
type BatchBytes struct {
	Batch int    // samples
	Bytes uint64 // size of the workspace
}

// Convolution returns the size of cuDNN's workspace. For an unmeasured convolution it is a guess from similar ones, the lower
// bound is zero, and the upper bound is the largest of five. For an unmeasured card the upper bound is a copy of every tensor
// plus, for weight gradients, partial sums from every multiprocessor; seven in eight measured convolutions are below it.
//
// No 3D convolution was measured on any card. The best guess is a copy of every tensor.
func (r Rules) Convolution(c Conv) Figure {
	if r.Standin {
		return exactly(0)
	}
	if c.Volume.In > 0 && c.Groups == c.Channels && c.Groups > 1 {
		return exactly(0) // PyTorch's own kernels
	}
	if c.Depth > 0 || c.Volume.In > 0 {
		n := c.copies()
		return Figure{N: n, Most: n + uint64(c.partials()), Lacks: Convolutions}
	}
	n, most, known := c.workspace()
	if !known {
		return Figure{N: n, Most: most, Lacks: Convolutions}
	}
	most = c.shape().bytes(c.Type.Bytes(), c.Batch).copies + littleBytes
	if c.Kind == WGrad {
		most += MaxConvPartials
	}
	return r.between(Convolutions, n, 0, most)
}

// workspace returns the size that was measured for the convolution. If there is none, known is false, and the size is a guess
// from similar ones, with an upper bound.
func (c Conv) workspace() (bytes, most uint64, known bool) {
	call, table := convCall{c.Kind, c.Type, c.shape()}, measuredWorkspaces()
	if c.Line || c.Size.H == c.Size.W && c.Kernel.H == c.Kernel.W {
		if points := table.workspace(call); points != nil {
			n := workspaceAt(points, c.Batch)
			return n, n, true
		}
	}
	if !c.Last && c.Groups == c.Channels && c.Groups > 1 {
		return 0, 0, true
	}
	if similar := table.similar(call); len(similar) > 0 {
		n, most := guess(similar, c.Batch)
		return n, most, false
	}
	n := c.copies()
	return n, max(n, call.bytes(c.Type.Bytes(), c.Batch).copies+littleBytes+uint64(c.partials())), false
}

// workspaceAt returns the workspace at any batch size, based on the measurements at the two batch sizes around it
// or nearest to it.
func workspaceAt(points []BatchBytes, batch int) uint64 {
	hi := min(1, len(points)-1)
	for hi < len(points)-1 && points[hi].Batch < batch {
		hi++
	}
	a, b := points[max(hi-1, 0)], points[hi]
	switch {
	case a.Batch == batch:
		return a.Bytes
	case b.Batch == batch:
		return b.Bytes
	case sameKernel(a, b):
		slope := (float64(b.Bytes) - float64(a.Bytes)) / float64(b.Batch-a.Batch)
		return uint64(max(0, float64(a.Bytes)+slope*float64(batch-a.Batch)))
	case batch > b.Batch:
		return b.scaled(batch)
	}
	return max(a.scaled(batch), b.scaled(batch))
}

// scaled returns the workspace at another batch size, as if all of it were proportional to the batch; for a
// larger batch this is an upper bound.
func (p BatchBytes) scaled(batch int) uint64 {
	return p.Bytes * uint64(batch) / uint64(p.Batch)
}

// sameKernel reports whether two sizes may come from the same kernel: the workspace grows with the batch, but not
// faster than the batch.
func sameKernel(a, b BatchBytes) bool {
	return a.Batch < b.Batch && a.Bytes <= b.Bytes && b.Bytes <= a.scaled(b.Batch)+a.scaled(b.Batch)/8+1024
}

// copies returns the workspace of a convolution unlike any measured one: everything is copied to channels last,
// and a weight's gradient is summed in parts.
func (c Conv) copies() uint64 {
	step := 16 / c.Type.Bytes()
	in := c.Channels / c.Groups
	padded := (in + step - 1) / step * step
	v := c.volume()
	points := v.Kernel
	elements := 0
	if !c.Last {
		elements = c.Batch * (v.In*padded*c.Groups + c.Filters*v.Out)
		if points > 1 {
			elements += c.Filters * points * padded
		}
	}
	bytes := elements*c.Type.Bytes() + 16
	if c.Kind == WGrad {
		bytes += c.Filters * in * points * Float32.Bytes()
	}
	return uint64(bytes)
}

// volume returns the points of the convolution's images or volumes.
func (c Conv) volume() Volume {
	if c.Volume.In > 0 {
		return c.Volume
	}
	out := c.shape().out()
	return Volume{In: c.Size.H * c.Size.W * max(c.Depth, 1), Out: out.H * out.W, Kernel: c.Kernel.H * c.Kernel.W * max(c.Depth, 1)}
}

// partials returns the most that a weight's gradient may need besides the copies.
func (c Conv) partials() int {
	if c.Kind != WGrad {
		return 0
	}
	return MaxConvPartials
}

// MaxConvPartials is the size of a weight gradient's partial sums if every multiprocessor has them: a tile of 128 by
// 128 in float32 each.
const MaxConvPartials = 120 * 64 << 10

// ConvPartials returns an upper bound on a weight gradient's partial sums: thirteen copies of the gradient, which
// was the most observed, or one from every multiprocessor. weight is the gradient's size in float32.
func (r Rules) ConvPartials(weight uint64) uint64 { return min(13*weight, MaxConvPartials) }
