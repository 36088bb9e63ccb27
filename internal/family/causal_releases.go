// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// How transformers computed a causal loss, release by release, from the sources of 4.30 to 4.57:
//
//   - At first each model's own forward computed the loss. It shifted logits against labels by copying the
//     logits without each sample's last token. Most models first cast all logits to float32 and assigned the
//     result to the same name, which freed the 16-bit logits; GPT-2, GPT-NeoX and OPT did not cast them at
//     all, nor did any model before 4.31.
//   - From 4.46, model by model, forward calls ForCausalLMLoss (loss/loss_utils.py), which casts. The 16-bit
//     logits keep their name in forward, so they stay alive next to the float32 ones.
//   - From 4.49 labels are padded by one, and logits are no longer copied.
//
// The current loss is causalLoss in causal.go. OwnLoss in a model's row of facts.go records which of these
// applied to it.

// ownLoss describes how a model's forward computed the loss.
type ownLoss struct {
	until  int  // the first release whose forward calls the shared function instead; 0 if every release does
	upcast bool // logits were cast to float32 first
}

// castLogits is the first release in which models cast their logits, if they do at all.
const castLogits = 431

// paddedLabels is the first release in which labels are padded instead of copying logits.
const paddedLabels = 449

// lossPath is the code that computes a causal loss in one release.
type lossPath struct {
	own     bool // the model's own forward computes the loss
	upcast  bool // the forward casts the logits to float32 under the same name
	unsloth bool // Unsloth's kernel computes the cross entropy
	shifted bool // the shared function copies the logits without the last token
}

// lossPath returns the path of the run's release.
func (r Run) lossPath() lossPath {
	path := r.releasePath()
	if path.unsloth = r.Loss == "unsloth"; path.unsloth && !path.own {
		path.shifted = true // FastForCausalLMLoss copies the logits in every release
	}
	return path
}

// releasePath returns the path of the model's own loss in the run's release.
func (r Run) releasePath() lossPath {
	switch {
	case r.Transformers == 0 || r.Transformers >= paddedLabels:
		return lossPath{}
	case r.Transformers < r.ownLoss.until:
		return lossPath{own: true, upcast: r.ownLoss.upcast && r.Transformers >= castLogits}
	}
	return lossPath{shifted: true}
}

// LossDiffers reports whether a release computes the model type's causal loss differently from the newest release.
func (f Facts) LossDiffers(release int) bool {
	return f.OwnLoss.until > 0 && release < paddedLabels
}

// shiftedLoss compares each token's logits with the next label, as releases before paddedLabels did. Its
// variables belong to the frame fn.
func shiftedLoss(fn *shadow.Frame, logits, labels *shadow.Tensor, vocab int, path lossPath, how *Calling) *shadow.Tensor {
	shift := fn.Let(logits.Slice(1, 0, logits.Size(1)-1).Contiguous()) // (B, S-1, V)
	next := fn.Let(labels.Slice(-1, 1, labels.Size(-1)).Contiguous())
	fn.Set(&shift, shift.View(-1, vocab))
	fn.Set(&next, next.View(-1))
	if path.unsloth {
		return shift.UnslothCrossEntropy(next)
	}
	return how.averaged(shift.CrossEntropy(next))
}
