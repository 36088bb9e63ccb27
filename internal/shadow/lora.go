// SPDX-License-Identifier: Apache-2.0

package shadow

// Lora says which linear layers get low-rank adapters. Everything else is
// frozen.
type Lora struct {
	Rank    int
	Dropout float64
	Targets map[string]bool // the last name of a module's path
}

// adapter is the pair of small matrices beside a frozen Linear.
type adapter struct {
	a, b *Linear
	drop float64
}

// AddLora freezes a model and puts adapters around the linear layers that l
// names, in the order of the model's modules.
func (b *Builder) AddLora(l Lora, layers []*Linear) {
	for _, p := range b.all {
		p.needs, p.leaf = false, false
	}
	for _, lin := range layers {
		if l.Targets[lastName(lin.At())] {
			lin.lora = &adapter{
				a:    b.Linear(lin.At()+".A", lin.In, l.Rank, false),
				b:    b.Linear(lin.At()+".B", l.Rank, lin.Out, false),
				drop: l.Dropout,
			}
		}
	}
}

func lastName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[i+1:]
		}
	}
	return path
}

// forward is base(x) + B(A(drop(x))) * scale.
func (ad *adapter) forward(x, base *Tensor) *Tensor {
	base.hold()
	out := ad.b.Call(ad.a.Call(x.Dropout(ad.drop))).MulScalar()
	return base.loosen().Add(out)
}
