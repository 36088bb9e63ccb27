// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// trlLoss is compute_loss of TRL's SFTTrainer (1.16), with no label ignored: the loss, the entropy, and the
// number of correctly predicted tokens.
func (h *causalHead) trlLoss(hidden *shadow.Tensor, b Batch) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func()
	out := h.fused(fn, hidden, b)
	perToken := fn.Let(out.logProbs.Neg())
	tokens := fn.Let(out.mask.SumAll())
	loss := fn.Let(perToken.SumAll().Div(tokens.Clamp()))
	valid := fn.Let(out.mask.SumAll().SumAll())
	entropy := fn.Let(out.entropy.Detach().SumAll().SumAll())
	correct := fn.Let(out.top.SumAll().SumAll())
	for _, x := range []*shadow.Tensor{entropy, correct} {
		valid.Compare("gt").Item()
		x.Div(valid).Item()
	}
	return fn.Return(loss)
}

// fusedOutput is TRL's FusedCausalLMOutput.
type fusedOutput struct {
	logProbs, entropy, top, mask *shadow.Tensor
}

// fused is the forward that add_fused_lm_head (trl/trainer/utils.py) installs in a model. The caller's frame
// holds its results.
func (h *causalHead) fused(caller *shadow.Frame, hidden *shadow.Tensor, b Batch) fusedOutput {
	fn := hidden.World().Func(hidden)
	states := fn.Let(hidden.Slice(1, 0, hidden.Size(1)-1)) // (B, S-1, H)
	labels := fn.Let(b.Labels.Slice(1, 1, b.Labels.Size(1)))
	mask := fn.Let(labels.Compare("ne"))
	// TOKEN_CHUNK_SIZE of trl/kernels/chunked_logprob.py, _CHUNKED_LOGPROB_CHUNK_SIZE of trl/trainer/utils.py
	tile := shadow.Tile{Tokens: 4096, Words: 32768}
	scored := states.Masked(mask).LogProbs(h.lm.Weight, labels.Masked(mask), tile, shadow.Scored{Entropy: true, Top: true})
	rows := hidden.World().Func(scored.LogProbs, scored.Entropy, scored.Top)
	out := fusedOutput{mask: mask}
	out.logProbs = fn.Let(scored.LogProbs.MaskedScatter(mask))
	out.entropy = fn.Let(scored.Entropy.MaskedScatter(mask))
	out.top = fn.Let(scored.Top.MaskedScatter(mask))
	rows.Return(nil)
	caller.Let(out.logProbs.SumAll().Neg().Div(mask.SumAll().Clamp())) // the model's own loss, which is not used
	for _, t := range []*shadow.Tensor{out.logProbs, out.entropy, out.top, mask} {
		caller.Let(t)
	}
	fn.Return(nil)
	return out
}
