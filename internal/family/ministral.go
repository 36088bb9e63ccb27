// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"

	"snug/internal/shadow/nn"
)

// newMinistral makes Ministral: Mistral in which each layer has the sliding window or none
// (transformers/models/ministral/modular_ministral.py).
func newMinistral(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 32, kv: 8, inter: 14336, vocab: 32000})
	window := c.window(4096)
	s.masks = layerMasks{windows: c.layerWindows(s.layers, window, func(int) bool { return true }), both: true}
	s.masks.window = slices.Max(append(s.masks.windows, 0))
	return newLlamaLike(b, c, run, s), nil
}
