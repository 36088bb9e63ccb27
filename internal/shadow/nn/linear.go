// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// Linear is nn.Linear, possibly with LoRA adapters.
type Linear struct {
	shadow.Path
	Weight, Bias *shadow.Tensor // (Out, In) and (Out); Bias may be nil
	In, Out      int            // features
	Unfused      bool           // the bias is added after the product, as in Falcon
	Router       bool           // the layer chooses experts
	Fused        bool           // a quantized layer with adapters is one of Unsloth's functions
	flipped      bool           // the weight is transposed
	quant        *quantState    // for a quantized weight
	lora         *adapter
	tuner        tuner    // another method of PEFT than LoRA; nil for none
	output       bool     // the layer computes logits
	parts        []string // names that LoRA targets may use for the parts of a fused layer; nil for other layers
}

// Linear makes an nn.Linear.
func (b *Builder) Linear(at string, in, out int, bias bool) *Linear {
	l := &Linear{Path: shadow.Path(at), In: in, Out: out, output: b.makesLogits(at)}
	l.Weight = b.Parameter(at+".weight", out, in)
	if bias {
		l.Bias = b.Parameter(at+".bias", out)
	}
	b.layers = append(b.layers, l)
	return l
}

// makesLogits reports whether the layer at a path computes the logits.
func (b *Builder) makesLogits(at string) bool { return b.Output != "" && lastName(at) == b.Output }

// SharedLinear makes an nn.Linear without a bias whose weight belonged to another module
// before the model was moved to the GPU.
func (b *Builder) SharedLinear(at string, weight *shadow.Tensor) *Linear {
	l := &Linear{Path: shadow.Path(at), Weight: weight.Hold(), In: weight.Size(1), Out: weight.Size(0), output: b.makesLogits(at)}
	b.tied = append(b.tied, Tie{At: at, To: weight})
	b.layers = append(b.layers, l)
	return l
}

// Call is linear(x).
func (l *Linear) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(l, x) }

// Forward is nn.Linear.forward.
func (l *Linear) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	if l.output {
		defer x.World().As(shadow.Logits)()
	}
	if l.tuner != nil && !x.World().Unadapted {
		return l.tuner.forward(fn, x, func(x *shadow.Tensor) *shadow.Tensor { return l.product(x) })
	}
	adapted := l.lora != nil && !x.World().Unadapted
	switch {
	case l.Fuses(x):
		return l.fused(x)
	case l.quant != nil && adapted:
		inner := x.World().Func(x)
		return l.lora.forwardQuantized(fn, x, inner.Return(l.forwardQuantized(inner, x)))
	case l.quant != nil:
		return l.forwardQuantized(fn, x)
	case !adapted:
		return l.product(x)
	}
	return l.lora.forward(fn, x, l.product(x))
}

// product computes the layer without its adapters. An unfused layer is Falcon's FalconLinear.
func (l *Linear) product(x *shadow.Tensor) *shadow.Tensor {
	if !l.Unfused {
		return x.Linear(l.Weight, l.Bias)
	}
	fn := x.World().Func(x)
	hidden := fn.Let(x.Matmul(l.Weight.T()))
	if l.Bias == nil {
		return fn.Return(hidden)
	}
	return fn.Return(hidden.Add(l.Bias))
}
