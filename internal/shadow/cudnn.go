// SPDX-License-Identifier: Apache-2.0

package shadow

// convKind is which of a convolution's three products runs.
type convKind int

const (
	fprop convKind = iota // the output
	dgrad                 // the input's gradient
	wgrad                 // the weight's gradient
)

// cudnnWorkspace is what cuDNN takes while it runs a convolution. Its tensor
// core kernels want channels last, with at least eight of them: images that lie
// otherwise are copied, and so are weights of more than one point.
func cudnnWorkspace(kind convKind, x, weight, y Shape, c Conv, dt DType, last bool) uint64 {
	if last {
		return 0
	}
	channels := (x.d[1] + 7) / 8 * 8
	elements := x.Numel()/x.d[1]*channels + y.Numel()
	if weight.d[2]*weight.d[3] > 1 {
		elements += weight.Numel() / weight.d[1] * (channels / c.Groups)
	}
	return uint64(elements)*dt.Bytes() + 16
}
