// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow/nn"

// newPegasus makes PEGASUS: mBART with fixed positions and no norm of the embeddings
// (transformers/models/pegasus/modeling_pegasus.py).
func newPegasus(b *nn.Builder, c *Config, run Run) (Model, error) {
	return newBARTLike(b, c, run, bartKind{vocab: 50265, ffn: 4096, act: "gelu", preNorm: true, finalNorm: true, keepsOnes: true, places: fixedPlaces})
}
