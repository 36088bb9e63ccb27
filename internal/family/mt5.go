// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow/nn"

// newMT5 makes mT5, which is T5 with other defaults and unscaled outputs of the decoder (transformers/models/mt5/modeling_mt5.py).
func newMT5(b *nn.Builder, c *Config, run Run) (Model, error) {
	c.usual(map[string]any{
		"vocab_size": 250112.0, "d_model": 512.0, "d_kv": 64.0, "d_ff": 1024.0, "num_layers": 8.0, "num_heads": 6.0,
		"feed_forward_proj": "gated-gelu",
	})
	m, err := newT5(b, c, run)
	if t, ok := m.(*t5); ok {
		t.scale = false
	}
	return m, err
}
