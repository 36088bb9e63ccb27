// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow/nn"

// newMistral makes Llama with a sliding window in all layers:
// transformers/models/mistral/modular_mistral.py.
func newMistral(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := llamaShape{
		hidden: c.Positive("hidden_size", 4096), layers: c.Int("num_hidden_layers", 32),
		heads: c.Positive("num_attention_heads", 32),
		inter: c.Positive("intermediate_size", 14336), vocab: c.Positive("vocab_size", 32000),
	}
	s.kv = c.kvHeads(s.heads, 8)
	s.dim = c.headDim(s.hidden, s.heads)
	s.masks = sameWindow(s.layers, c.window(4096))
	return newDecoder(b, c, run, s), nil
}
