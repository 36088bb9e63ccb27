// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow/nn"

// newMarian makes Marian: BART with fixed positions and no norm of the embeddings
// (transformers/models/marian/modeling_marian.py).
func newMarian(b *nn.Builder, c *Config, run Run) (Model, error) {
	if !c.Bool("share_encoder_decoder_embeddings", true) {
		c.fail("share_encoder_decoder_embeddings", "true, because separate embeddings are not simulated")
	}
	return newBARTLike(b, c, run, bartKind{vocab: 58101, ffn: 4096, act: "gelu", keepsOnes: true, rebinds: true, places: fixedPlaces})
}
