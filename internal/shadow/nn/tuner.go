// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// PEFT's methods besides LoRA that change linear layers (PEFT 0.21, peft/tuners), one file each.

// tuner is what such a method adds to a layer.
type tuner interface {
	// forward is the forward of PEFT's layer. base runs the layer itself.
	forward(fn *shadow.Frame, x *shadow.Tensor, base func(x *shadow.Tensor) *shadow.Tensor) *shadow.Tensor
	// parameters returns what PEFT casts to float32, in the order in which it does.
	parameters() []*shadow.Tensor
}

// tuners has the function that adds each method to the layers it targets.
var tuners = map[string]func(b *Builder, targets []*Linear, l Lora){
	"ia3": eachLayer(newIA3), "adalora": eachLayer(newAdaLora), "vera": addVera, "loha": eachLayer(newLoHa), "lokr": eachLayer(newLoKr),
	"oft": eachLayer(newOFT),
}

// eachLayer returns the function that adds a method to layers which share nothing.
func eachLayer(add func(b *Builder, lin *Linear, l Lora) tuner) func(b *Builder, targets []*Linear, l Lora) {
	return func(b *Builder, targets []*Linear, l Lora) {
		for _, lin := range targets {
			b.inTypeOf(lin, func() { lin.tuner = add(b, lin, l) })
		}
	}
}

// inTypeOf makes parameters in the type of a layer's weight.
func (b *Builder) inTypeOf(lin *Linear, add func()) {
	was := b.DType
	b.DType = lin.Weight.DType()
	add()
	b.DType = was
}

// addTuner adds a method's parameters to the layers, in the type of their weights; they are cast to float32 afterwards.
func (b *Builder) addTuner(layers []any, l Lora) {
	var targets []*Linear
	for _, m := range layers {
		if lin, ok := m.(*Linear); ok && l.adapts(lin.At()) && !l.saves(lin.At()) {
			targets = append(targets, lin)
		}
	}
	tuners[l.Tuner](b, targets, l)
	for _, lin := range targets {
		moveInside("base", lin.Weight)
		moveInside("base", lin.Bias)
	}
	b.save(layers, l)
	for _, lin := range targets {
		for _, p := range lin.tuner.parameters() {
			p.CastInPlace(shadow.Float32)
		}
	}
}
