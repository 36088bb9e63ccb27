// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// Functions for models that a script builds itself: attention, norms and causal masks.

func registerAttention() {
	natives["torch.nn.functional.scaled_dot_product_attention"] = attention
	natives["torch.nn.functional.rms_norm"] = rmsNorm
	natives["torch.rms_norm"] = rmsNorm
	natives["torch.outer"] = outer
	natives["snug.is_causal_mask"] = func(in *interpreter, a arguments) value { return in.causalMask(a.or(0, "", nil)) }
	natives["snug.mark_causal"] = func(in *interpreter, a arguments) value { return in.markCausal(a.or(0, "", nil)) }
}

func attention(in *interpreter, a arguments) value {
	q, okQ := card(a, 0, "query")
	k, okK := card(a, 1, "key")
	v, okV := card(a, 2, "value")
	if !okQ || !okK || !okV || q.Dim() != 4 {
		in.noteTensors("scaled_dot_product_attention on tensors that do not have four dimensions", a)
		return unknown{}
	}
	drops, _ := number(a.or(4, "dropout_p", 0.0))
	causal, _ := a.or(5, "is_causal", false).(bool)
	gqa, _ := a.or(-1, "enable_gqa", false).(bool)
	return in.World.SDPA(shadow.Attention{Query: q, Key: k, Value: v, Mask: optional(a, 3, "attn_mask"), Dropout: drops, Causal: causal, GQA: gqa}).Hold()
}

func rmsNorm(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	if !ok {
		return unknown{}
	}
	if l, ok := a.or(1, "normalized_shape", nil).(*list); ok && len(l.items) > 1 {
		in.note("an RMS norm over several dimensions is counted as if it were over the last one only")
	}
	return x.RMSNorm(optional(a, 2, "weight")).Hold()
}

// outer implements torch.outer, the product of a column and a row.
func outer(_ *interpreter, a arguments) value {
	x, okX := card(a, 0, "input")
	y, okY := card(a, 1, "vec2")
	if !okX || !okY || x.Dim() != 1 || y.Dim() != 1 {
		return unknown{}
	}
	return x.Unsqueeze(1).Mul(y).Hold()
}

// markCausal records that the mask v is causal, and returns v.
func (in *interpreter) markCausal(v value) value {
	switch t := v.(type) {
	case *hostTensor:
		t.causal = true
	case *shadow.Tensor:
		in.causal = append(in.causal, t)
	}
	return hold(v)
}

// causalMask reports whether v is known to be a causal mask: torch.nn's own, or the upper triangle of torch.triu.
func (in *interpreter) causalMask(v value) value {
	switch t := v.(type) {
	case *hostTensor:
		return t.causal
	case *shadow.Tensor:
		return slices.Contains(in.causal, t)
	}
	return false
}
