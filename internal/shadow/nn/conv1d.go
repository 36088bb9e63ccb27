// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// Conv1D is transformers' Conv1D (transformers/pytorch_utils.py), a Linear with a transposed weight that always
// has a bias. LoRA treats it as a Linear: PEFT's lora.Linear wraps either one, and its two adapter matrices are
// nn.Linears in both cases.
type Conv1D struct{ Linear }

// Conv1D makes a transformers Conv1D.
func (b *Builder) Conv1D(at string, out, in int) *Conv1D {
	l := &Conv1D{Linear{Path: shadow.Path(at), In: in, Out: out, flipped: true}}
	l.Weight = b.Parameter(at+".weight", in, out)
	l.Bias = b.Parameter(at+".bias", out)
	b.layers = append(b.layers, &l.Linear)
	return l
}

// FirstConv1D returns the path of the first Conv1D that l targets, or "".
func (b *Builder) FirstConv1D(l Lora) string {
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && lin.flipped && l.adapts(lin.At()) {
			return lin.At()
		}
	}
	return ""
}

// Call is conv1d(x).
func (l *Conv1D) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(l, x) }

// Forward runs Conv1D, with LoRA if the layer has adapters.
func (l *Conv1D) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	if l.quant != nil { // bitsandbytes replaced it with a Linear4bit
		return l.Linear.Forward(fn, x)
	}
	if l.tuner != nil && !x.World().Unadapted {
		return l.tuner.forward(fn, x, func(x *shadow.Tensor) *shadow.Tensor {
			inner := x.World().Func(x)
			return inner.Return(l.base(inner, x))
		})
	}
	if l.lora == nil || x.World().Unadapted {
		return l.base(fn, x)
	}
	inner := x.World().Func(x)
	return l.lora.forward(fn, x, inner.Return(l.base(inner, x)))
}

func (l *Conv1D) base(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	size := x.Shape().With(-1, l.Out)
	fn.Set(&x, shadow.Addmm(l.Bias, x.View(-1, x.Size(-1)), l.Weight))
	return x.ViewAs(size)
}
