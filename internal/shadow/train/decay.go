// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// Weight decay that is added to the gradients (torch/optim, 2.11), in the foreach forms: the sums are a separate
// list. AdamW's weights decay in place instead, and fused kernels and loops make no list.

// decaying is an optimizer that can have such a weight decay.
type decaying interface{ setDecay() }

// Decay gives an optimizer weight decay in the groups of parameters where on says so.
func Decay(o Optimizer, on []bool) {
	all, grouped := o.(groups)
	if !grouped {
		all = groups{o}
	}
	for i, g := range all {
		if d, ok := g.(decaying); ok && i < len(on) && on[i] {
			d.setDecay()
		}
	}
}

// decay is part of an optimizer: whether weights decay, and the sums of the group that is being updated.
type decay struct {
	on   bool
	sums []*shadow.Tensor
}

func (d *decay) setDecay() { d.on = true }

// begin makes the sums of a group, after those of the group before have ended.
func (d *decay) begin(w *shadow.World, group []*shadow.Tensor) {
	d.end()
	if d.on {
		d.sums = foreach(w, "_foreach_add", group)
	}
}

// end lets go of the sums.
func (d *decay) end() {
	dropList(d.sums)
	d.sums = nil
}
