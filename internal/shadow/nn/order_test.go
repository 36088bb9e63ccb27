// SPDX-License-Identifier: Apache-2.0

package nn

import "testing"

func TestBlockOf(t *testing.T) {
	b := &Builder{Blocks: []string{"model.layers", "transformer.h", "encoder.block"}}
	tests := []struct{ name, want string }{
		{"model.layers.11.mlp.up_proj.weight", "model.layers.11"},
		{"transformer.h.0.ln_1.bias", "transformer.h.0"},
		{"model.layers.3.block_sparse_moe.experts.1.w1.weight", "model.layers.3"},
		{"encoder.block.2.layer.0.SelfAttention.q.weight", "encoder.block.2"},
		{"model.embed_tokens.weight", ""},
		{"model.layers_norm.weight", ""},
		{"other.model.layers.0.weight", ""},
		{"weight", ""},
	}
	for _, x := range tests {
		if got := b.BlockOf(x.name); got != x.want {
			t.Errorf("blockOf(%q) = %q, want %q", x.name, got, x.want)
		}
	}
}
