// SPDX-License-Identifier: Apache-2.0

package shadow

import "slices"

// ConvWorkspace is what one convolution takes for a moment, by batch size.
type ConvWorkspace []BatchBytes

// At is the workspace at a batch size, measured or between measured ones.
func (w ConvWorkspace) At(batch int) uint64 {
	if len(w) == 0 {
		return 0
	}
	return workspaceAt(w, batch)
}

// ConvSizes is a convolution as its tensors' sizes show it: elements of one
// image that comes in, of one that goes out, and of the weight. Zero is unknown.
type ConvSizes struct{ In, Out, Weight int }

// MeasuredConvs are the workspaces of the convolutions that have such sizes and
// were measured, of a kind ("fprop", "dgrad" or "wgrad") and with elements of so
// many bytes. Half asks for float16 instead of bfloat16 where they differ. They
// come in a fixed order.
func MeasuredConvs(kind string, elementBytes int, half bool, s ConvSizes) []ConvWorkspace {
	var calls []convCall
	for call := range measuredWorkspaces() {
		if call.kind == convKinds[kind] && int(call.dtype.Bytes()) == elementBytes && s.fits(call.sizes()) {
			calls = append(calls, call)
		}
	}
	slices.SortFunc(calls, convCall.compare)
	var out []ConvWorkspace
	for _, c := range calls {
		other := c
		if other.dtype = Float16; half && measuredWorkspaces()[other] != nil && c.dtype == BFloat16 || !half && c.dtype == Float16 {
			continue
		}
		out = append(out, measuredWorkspaces()[c])
	}
	return out
}

func (s ConvSizes) fits(o ConvSizes) bool {
	return (s.In == 0 || s.In == o.In) && (s.Out == 0 || s.Out == o.Out) && (s.Weight == 0 || s.Weight == o.Weight)
}

func (c convCall) sizes() ConvSizes {
	out := Conv{Stride: c.stride, Padding: c.padding}.out(c.side, c.kernel)
	return ConvSizes{
		In: c.channels * c.side * c.side, Out: c.filters * out * out,
		Weight: c.filters * c.channels / c.groups * c.kernel * c.kernel,
	}
}

// compare orders calls: bfloat16 before float16, channels first before last.
func (c convCall) compare(d convCall) int {
	key := func(c convCall) []int {
		half, last := 0, 0
		if c.dtype == Float16 {
			half = 1
		}
		if c.last {
			last = 1
		}
		return []int{half, last, c.channels, c.side, c.filters, c.kernel, c.stride, c.padding, c.groups}
	}
	return slices.Compare(key(c), key(d))
}
