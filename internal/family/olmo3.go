// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow/nn"

// newOLMo3 makes OLMo 3: OLMo 2 with a sliding window in three of four layers, and separate rotary angles for the
// two kinds of layers (transformers/models/olmo3/modular_olmo3.py).
func newOLMo3(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 32, inter: 11008, vocab: 50304})
	window := c.window(4096)
	s.masks = layerMasks{windows: c.layerWindows(s.layers, window, func(i int) bool { return (i+1)%4 != 0 }), window: window, both: true}
	m := newOLMo2Stack(b, c, run, s)
	m.norm = newOLMo2Norm(b, "model.norm", s.hidden)
	m.rotary = rotaryByType(b, c, s.dim, s.masks.windows)
	m.rotary.inFloat32()
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}
