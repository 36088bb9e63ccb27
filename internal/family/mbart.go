// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newMBART makes mBART: BART with norms before attention and MLP, and one after the last layer
// (transformers/models/mbart/modeling_mbart.py).
func newMBART(b *nn.Builder, c *Config, run Run) (Model, error) {
	return newBARTLike(b, c, run, bartKind{
		vocab: 50265, ffn: 4096, act: "gelu", preNorm: true, embedNorm: true, finalNorm: true, keepsOnes: true, rebinds: true, shift: shiftLanguage,
	})
}

// shiftLanguage is mBART's shift_tokens_right: the last token, which names the language, comes first.
func shiftLanguage(labels *shadow.Tensor) *shadow.Tensor {
	fn := labels.World().Func(labels)
	ids := fn.Let(labels.Clone())
	shadow.Item(ids.Compare("eq"))
	last := fn.Let(ids.Compare("ne").Sum(false, 1).AddScalar().Unsqueeze(-1)) // (B, 1)
	fn.Let(ids.Gather(last).Squeeze(-1))
	ids.Slice(-1, 1, labels.Size(-1)).AddTo(ids.Slice(-1, 0, labels.Size(-1)-1).Clone())
	return fn.Return(ids)
}
