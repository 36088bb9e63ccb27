// SPDX-License-Identifier: Apache-2.0

package shadow

// Conv2d is nn.Conv2d.
type Conv2d struct {
	Path
	Conv
	Weight, Bias *Tensor
}

// Conv2d makes an nn.Conv2d with a square kernel.
func (b *Builder) Conv2d(at string, in, out, kernel int, c Conv, bias bool) *Conv2d {
	l := &Conv2d{Path: Path(at), Conv: c}
	l.Weight = b.Parameter(at+".weight", out, in/c.Groups, kernel, kernel)
	if bias {
		l.Bias = b.Parameter(at+".bias", out)
	}
	return l
}

// Forward is what nn.Conv2d does.
func (l *Conv2d) Forward(fn *Frame, x *Tensor) *Tensor { return x.Conv2d(l.Weight, l.Bias, l.Conv) }

// BatchNorm2d is nn.BatchNorm2d.
type BatchNorm2d struct {
	Path
	Weight, Bias            *Tensor
	RunningMean, RunningVar *Tensor
}

// BatchNorm2d makes an nn.BatchNorm2d; the number of batches that it counts is
// a tensor too.
func (b *Builder) BatchNorm2d(at string, width int) *BatchNorm2d {
	n := &BatchNorm2d{Path: Path(at), Weight: b.Parameter(at+".weight", width), Bias: b.Parameter(at+".bias", width)}
	n.RunningMean = b.Buffer(b.DType, width)
	n.RunningVar = b.Buffer(b.DType, width)
	b.Buffer(Int64)
	return n
}

// Forward is what nn.BatchNorm2d does.
func (n *BatchNorm2d) Forward(fn *Frame, x *Tensor) *Tensor {
	return x.BatchNorm(n.Weight, n.Bias, n.RunningMean, n.RunningVar)
}

// Sequential is nn.Sequential.
type Sequential struct {
	Path
	List []Module
}

// Forward is what nn.Sequential does: one name, bound anew by each module.
func (s *Sequential) Forward(fn *Frame, input *Tensor) *Tensor {
	for _, m := range s.List {
		fn.Set(&input, input.World().Call(m, input))
	}
	return input
}

// Apply is a module without parameters.
type Apply struct {
	Path
	Run func(x *Tensor) *Tensor
}

// Forward runs the function.
func (a Apply) Forward(fn *Frame, x *Tensor) *Tensor { return a.Run(x) }

// To is model.to(dtype): each floating tensor is copied, then its old memory
// goes back.
func (b *Builder) To(dt DType) {
	b.DType = dt
	for _, t := range b.made {
		t.CastInPlace(dt)
	}
}
