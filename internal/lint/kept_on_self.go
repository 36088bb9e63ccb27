// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"snug/internal/pysrc"
)

var keptOnSelf = Rule{
	Code: "SNG109", Name: "kept-on-self",
	Title:    "a step leaves its outputs on self or in a global",
	Why:      "A step's outputs are freed when its function returns. An attribute or a global keeps them until the next step replaces them, so they still exist while the next forward pass creates new ones: the peak contains both.",
	Evidence: "Computed: logits of 8 × 1024 tokens and 128,256 entries in float32 take 3.9 GiB, which remain allocated during the next forward pass.",
	Bad:      "def training_step(self, batch):\n    self.logits = self.model(batch)\n    loss = self.criterion(self.logits, batch)\n    loss.backward()\n",
	Good:     "def training_step(self, batch):\n    logits = self.model(batch)\n    loss = self.criterion(logits, batch)\n    loss.backward()\n",
	check:    checkKeptOnSelf,
}

func checkKeptOnSelf(m *module, r *reporter) {
	for _, f := range m.functions {
		if !f.isStep() || !m.ofTraining() {
			continue
		}
		for name, list := range f.assigns {
			for _, a := range list {
				if f.leaves(name, a) {
					v := f.value(a.value, a.at, a.place)
					if v.known && v.graph && v.big {
						r.add(a.at, "%s keeps the outputs of this step while the next one creates new ones; use a local name, or set it to None after backward", name).made = v.lines
					}
				}
			}
		}
	}
}

// leaves reports whether an assignment keeps a value alive that nothing else reads.
func (f *function) leaves(name string, a *assign) bool {
	if a.value == nil || a.op != "" || a.element >= 0 || f.cleared[last(name)] || len(f.assigns[name]) > 1 || f.readElsewhere(last(name)) {
		return false
	}
	if _, direct := a.value.(*pysrc.Call); !direct {
		return false
	}
	return strings.HasPrefix(name, "self.") && strings.Count(name, ".") == 1 || f.globals[name]
}

// readElsewhere reports whether another function in the file uses a name too.
func (f *function) readElsewhere(name string) bool {
	for _, other := range f.functions {
		if other != f && other.name != "__init__" && other.words[name] {
			return true
		}
	}
	return false
}
