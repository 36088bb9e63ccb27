// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// Conv2d is nn.Conv2d.
type Conv2d struct {
	shadow.Path
	shadow.Conv
	Weight, Bias *shadow.Tensor // (out, in, height, width) and (out); Bias may be nil
}

// Conv2d makes an nn.Conv2d with a square kernel.
func (b *Builder) Conv2d(at string, in, out, kernel int, c shadow.Conv, bias bool) *Conv2d {
	l := &Conv2d{Path: shadow.Path(at), Conv: c}
	l.Weight = b.Parameter(at+".weight", out, in/c.Groups, kernel, kernel)
	if bias {
		l.Bias = b.Parameter(at+".bias", out)
	}
	return l
}

// Forward is nn.Conv2d.forward.
func (l *Conv2d) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	return x.Conv2d(l.Weight, l.Bias, l.Conv)
}

// BatchNorm2d is nn.BatchNorm2d.
type BatchNorm2d struct {
	shadow.Path
	Weight, Bias            *shadow.Tensor // (channels)
	RunningMean, RunningVar *shadow.Tensor // (channels), buffers
}

// BatchNorm2d makes an nn.BatchNorm2d. Its batch counter is also a tensor.
func (b *Builder) BatchNorm2d(at string, width int) *BatchNorm2d {
	n := &BatchNorm2d{Path: shadow.Path(at), Weight: b.Parameter(at+".weight", width), Bias: b.Parameter(at+".bias", width)}
	n.RunningMean = b.Buffer(b.DType, width)
	n.RunningVar = b.Buffer(b.DType, width)
	b.Buffer(shadow.Int64)
	return n
}

// Forward is nn.BatchNorm2d.forward.
func (n *BatchNorm2d) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	return x.BatchNorm(n.Weight, n.Bias, n.RunningMean, n.RunningVar)
}

// Sequential is nn.Sequential.
type Sequential struct {
	shadow.Path
	List []shadow.Module // run in order
}

// Forward is nn.Sequential.forward: each module's result is bound to the same variable.
func (s *Sequential) Forward(fn *shadow.Frame, input *shadow.Tensor) *shadow.Tensor {
	for _, m := range s.List {
		fn.Set(&input, input.World().Call(m, input))
	}
	return input
}

// Apply is a module without parameters.
type Apply struct {
	shadow.Path
	Run func(x *shadow.Tensor) *shadow.Tensor // the function
}

// Forward runs the function.
func (a Apply) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor { return a.Run(x) }

// To is model.to(dtype): each floating-point tensor is copied, then its old memory is freed.
func (b *Builder) To(dt shadow.DType) {
	b.DType = dt
	for _, t := range b.made {
		t.CastInPlace(dt)
	}
}
