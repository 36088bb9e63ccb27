// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"snug/internal/setup"
	"snug/internal/shadow"
)

// pack loads the model with its linear layers packed, where the setup asks for it.
func (r *run) pack() error {
	p := r.s.Packed
	if p == nil {
		return nil
	}
	if d := r.s.Dist; d != nil && d.Kind != "ddp" {
		return setup.Wrong("{packed.bits} is 4, with {dist.kind} %s: packed weights are simulated on one GPU or under ddp", d.Kind)
	}
	if !r.builder.Packs() {
		return setup.Wrong("{packed.bits} is 4: %s has no linear layers that could be packed; leave it out", r.s.Model.Title())
	}
	r.builder.Pack(shadow.Packed{Double: p.Double, Compute: typeOf(p.Compute), Raised: p.Raised, Lowered: p.Lowered, Saved: p.Saved})
	return nil
}
