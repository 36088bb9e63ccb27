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

// Conv1d is nn.Conv1d.
type Conv1d struct {
	shadow.Path
	shadow.Conv
	Weight, Bias *shadow.Tensor // (out, in / groups, length) and (out); Bias may be nil
}

// Conv1d makes an nn.Conv1d.
func (b *Builder) Conv1d(at string, in, out, kernel int, c shadow.Conv, bias bool) *Conv1d {
	l := &Conv1d{Path: shadow.Path(at), Conv: c}
	l.Weight = b.Parameter(at+".weight", out, in/c.Groups, kernel)
	if bias {
		l.Bias = b.Parameter(at+".bias", out)
	}
	return l
}

// Call is conv(x).
func (l *Conv1d) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(l, x) }

// Forward is nn.Conv1d.forward.
func (l *Conv1d) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	return x.Conv1d(l.Weight, l.Bias, l.Conv)
}

// Patches is an nn.Conv3d whose kernel covers the whole of each input, a patch of an image over a few frames.
type Patches struct {
	shadow.Path
	Weight, Bias *shadow.Tensor // (out, in, frames, height, width) and (out); Bias may be nil
}

// Patches makes an nn.Conv3d for patches with square sides.
func (b *Builder) Patches(at string, in, out, frames, side int, bias bool) *Patches {
	l := &Patches{Path: shadow.Path(at), Weight: b.Parameter(at+".weight", out, in, frames, side, side)}
	if bias {
		l.Bias = b.Parameter(at+".bias", out)
	}
	return l
}

// Forward is nn.Conv3d.forward.
func (l *Patches) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	return x.Patches(l.Weight, l.Bias)
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

// GroupNorm is nn.GroupNorm.
type GroupNorm struct {
	shadow.Path
	Groups       int            // number of groups that channels are split into
	Weight, Bias *shadow.Tensor // (channels)
}

// GroupNorm makes an nn.GroupNorm.
func (b *Builder) GroupNorm(at string, groups, channels int) *GroupNorm {
	return &GroupNorm{Path: shadow.Path(at), Groups: groups, Weight: b.Parameter(at+".weight", channels), Bias: b.Parameter(at+".bias", channels)}
}

// Forward is nn.GroupNorm.forward.
func (n *GroupNorm) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	return x.GroupNorm(n.Groups, n.Weight, n.Bias)
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
