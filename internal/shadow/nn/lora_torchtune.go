// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"

	"snug/internal/shadow"
)

// AdaptedLinear makes an nn.Linear, or torchtune's LoRALinear if l names it (torchtune 0.6.1,
// modules/peft/lora.py). Its adapters are made at the same time, in the model's type.
func (b *Builder) AdaptedLinear(l Lora, at string, in, out int, bias bool) *Linear {
	lin := b.Linear(at, in, out, bias)
	if l.Rank > 0 && l.adapts(at) {
		lin.lora = &adapter{
			of: lin, drop: l.Dropout, torchtune: true,
			a: b.Linear(at+".A", in, l.Rank, false),
			b: b.Linear(at+".B", l.Rank, out, false),
		}
	}
	return lin
}

// TrainAdapters is set_trainable_params(model, get_adapter_params(model)): everything else is frozen.
func (b *Builder) TrainAdapters() {
	for _, p := range b.all {
		p.SetTrained(false)
	}
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && lin.lora != nil {
			lin.lora.a.Weight.SetTrained(true)
			lin.lora.b.Weight.SetTrained(true)
		}
	}
}

// First moves a parameter to the beginning of Parameters, for a module that is made after others but precedes them in
// the model.
func (b *Builder) First(p *shadow.Tensor) {
	if i := slices.Index(b.all, p); i > 0 {
		b.all = slices.Insert(slices.Delete(b.all, i, i+1), 0, p)
	}
}

// forwardTorchtune is LoRALinear.forward.
func (ad *adapter) forwardTorchtune(fn *shadow.Frame, x, out *shadow.Tensor) *shadow.Tensor {
	fn.Let(out)
	lora := fn.Let(ad.a.Call(x.Dropout(ad.drop)))
	fn.Set(&lora, ad.b.Call(lora).MulScalar())
	return out.Add(lora)
}
