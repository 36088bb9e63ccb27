// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// QKV maps the name of each part of a fused query-key-value layer, as used in targets, to the part's width.
type QKV map[string]int

// qkvParts is the order of the parts.
var qkvParts = [...]string{"q_proj", "k_proj", "v_proj"}

// AdaptedQKV makes an nn.Linear for queries, keys and values, or LitGPT's LoRAQKVLinear if l names any of them
// (litgpt 0.5.13, lora.py). Its adapters are made at the same time, in the model's type.
func (b *Builder) AdaptedQKV(l Lora, at string, in int, parts QKV, bias bool) *Linear {
	all, adapted, named := 0, 0, 0
	for _, name := range qkvParts {
		all += parts[name]
		if l.Rank > 0 && l.adapts(at+"."+name) {
			named++
			adapted += parts[name]
		}
	}
	if named == 0 {
		lin := b.Linear(at+".qkv", in, all, bias)
		lin.parts = qkvParts[:]
		return lin
	}
	ad := &adapter{
		drop: l.Dropout, qkv: true, fresh: l.Fresh,
		a: b.Linear(at+".qkv.A", in, l.Rank*named, false),
		b: b.Linear(at+".qkv.B", l.Rank, adapted, false),
	}
	lin := b.Linear(at+".qkv", in, all, bias)
	lin.lora, ad.of = ad, lin
	return lin
}

// forwardQKV is LoRAQKVLinear.forward. The second product is a grouped convolution with one group per adapted
// part; its result is copied into zeros unless all parts are adapted.
func (ad *adapter) forwardQKV(fn *shadow.Frame, x, pretrained *shadow.Tensor) *shadow.Tensor {
	fn.Let(pretrained)
	afterA := fn.Let(x.Dropout(ad.drop).Linear(ad.a.Weight, nil))
	afterB := fn.Let(afterA.ConvolvedInGroups(ad.b.Weight))
	if afterB.Size(-1) < pretrained.Size(-1) {
		padded := afterB.CopiedIntoZeros(pretrained.Size(-1), ad.fresh)
		return pretrained.Add(fn.Let(padded.MulScalar()))
	}
	lora := fn.Let(afterB.MulScalar())
	return pretrained.Add(lora)
}
