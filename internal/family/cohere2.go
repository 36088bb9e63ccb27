// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow/nn"

// newCohere2 makes Command R7B and later: Cohere's model with a sliding window, and positions, in three of four
// layers (transformers/models/cohere2/modular_cohere2.py).
func newCohere2(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 8192, layers: 40, heads: 64, inter: 22528, vocab: 256000})
	s.dim = c.HeadDim(s.hidden, s.heads)
	window, every := c.window(4096), c.Positive("sliding_window_pattern", 4)
	s.masks = layerMasks{windows: c.layerWindows(s.layers, window, func(i int) bool { return (i+1)%every != 0 }), window: window, both: true}
	return newCohereLike(b, c, run, s, false, func(i int) bool { return s.masks.windows[i] > 0 }), nil
}
