// SPDX-License-Identifier: Apache-2.0

package lint

var retainedGraph = Rule{
	Code: "SNG303", Name: "retained-graph",
	Title:    "the last backward of a step retains its graph",
	Why:      "retain_graph=True keeps all activations of the step after backward, for a second backward through the same graph. If none follows, they stay until the loss is replaced, while the next forward pass already creates new ones: the peak contains both.",
	Evidence: "Measured on an H200: together with a summed loss, 164 MiB a step stayed on a 4-layer decoder; see SNG102.",
	Bad:      "for batch in loader:\n    loss = model(batch).loss\n    loss.backward(retain_graph=True)\n    optimizer.step()\n    optimizer.zero_grad()\n",
	Good:     "for batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n",
	check:    checkRetained,
}

func checkRetained(m *module, r *reporter) {
	if !m.ofTraining() {
		return
	}
	for _, f := range m.functions {
		for _, b := range f.backs {
			loop := b.place.loop()
			if loop == nil || !isTrue(argument(b.Call, "retain_graph")) || isTrue(argument(b.Call, "create_graph")) {
				continue
			}
			if f.onlyBackward(b, loop) && !f.words["autograd"] && !f.words["grad"] {
				r.add(b.At(), "no second backward follows in this loop, so retain_graph=True only keeps the activations; remove it")
			}
		}
	}
}

// onlyBackward reports whether a backward pass is the only one in its loop, and the loop itself updates weights.
func (f *function) onlyBackward(b *backward, loop *place) bool {
	for _, other := range f.backs {
		if other != b && other.place.in(loop) {
			return false
		}
	}
	for _, c := range f.calls {
		if updates(c.Call) && c.place.loop() == loop && before(b.At(), c.At()) {
			return true
		}
	}
	return false
}
