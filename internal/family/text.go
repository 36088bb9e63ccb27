// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// What text models share in transformers: masks, attention functions, losses.

// positions is torch.arange(S) + past, with a batch dimension put in front.
func positions(fn *shadow.Frame, w *shadow.World, seq int) *shadow.Tensor {
	p := fn.Let(w.Arange(seq).AddScalar())
	fn.Set(&p, p.Unsqueeze(0))
	return p
}

// causalMask is create_causal_mask for SDPA: a mask of ones is seen to be one
// and left out, so that attention can use its causal flag. Eager attention gets
// a float mask.
func (n net) causalMask(fn *shadow.Frame, mask *shadow.Tensor) {
	if mask == nil {
		return
	}
	m := fn.Let(mask.To(shadow.Bool))
	shadow.Item(m.Sum(false, 0, 1).Compare("eq"))
	fn.Del(&m)
}

// attention is ALL_ATTENTION_FUNCTIONS: query is (B, H, S, D), key and value
// (B, Hkv, S, D); the result is (B, S, H·D).
func (n net) attention(q, k, v *shadow.Tensor, causal bool, dropout float64) *shadow.Tensor {
	fn := n.w.Func(q, k, v)
	out := n.w.SDPA(shadow.Attention{Query: q, Key: k, Value: v, Causal: causal, Dropout: dropout, GQA: q.Size(1) != k.Size(1)})
	return fn.Return(out.Transpose(1, 2).Contiguous())
}

// causalLoss is ForCausalLMLoss.
func causalLoss(logits, labels *shadow.Tensor, vocab int) *shadow.Tensor {
	fn := logits.World().Func(logits, labels)
	fn.Set(&logits, logits.Float())
	fn.Set(&labels, labels.Pad(0, 1))
	shift := fn.Let(labels.Slice(-1, 1, labels.Size(-1)).Contiguous())
	fn.Set(&logits, logits.View(-1, vocab))
	fn.Set(&shift, shift.View(-1))
	return fn.Return(logits.CrossEntropy(shift))
}
