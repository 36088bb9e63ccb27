// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"
	"strings"

	"snug/internal/shadow"
)

// The parts of a model that Liger's kernels replace (liger_kernel/transformers/monkey_patch.py,
// 0.8.5): the rotation of queries and keys, the norms, the ops between the two
// products of an MLP, and the end of a ForCausalLM.forward.

// liger reports whether a kind of layer uses Liger's kernels.
func (r Run) liger(part string) bool { return slices.Contains(r.Liger, part) }

// checkLiger returns an error if Liger has no kernels for the model.
func (r Run) checkLiger(model string, f Facts) error {
	field := "liger"
	switch {
	case f.Liger || len(r.Liger) == 0 && r.Loss != "liger":
		return nil
	case len(r.Liger) == 0:
		field = "loss"
	}
	if f.LigerToo {
		return refuse(field, "Liger's kernels for %s are not simulated; remove this setting, or measure the run: snug profile -- <your command>", model)
	}
	return refuse(field, "Liger has no kernels for %s; remove this setting; models with kernels: %s", model, strings.Join(Types(func(f Facts) bool { return f.Liger }), ", "))
}

// checkLigerExperts returns an error for Liger's MLP if only some layers have experts: Liger fails unless every
// layer has them.
func (r Run) checkLigerExperts(s llamaShape) error {
	for i := range s.layers {
		if r.liger("mlp") && !s.moe.sparse(i) {
			return refuse("liger", "layer %d has no experts, but Liger's mlp requires experts in every layer; remove mlp", i)
		}
	}
	return nil
}

// applyRotary is apply_rotary_pos_emb, the model's own version of it, or Liger's.
func (m *llama) applyRotary(q, k *shadow.Tensor, window int, own rotation) (*shadow.Tensor, *shadow.Tensor) {
	r := m.rotary.of(window)
	switch {
	case m.run.liger("rope"):
		return shadow.LigerRope(q, k, r.cos, r.sin)
	case m.run.unsloth("rope"):
		return q.UnslothRope(r.cos, r.sin), k.UnslothRope(r.cos, r.sin)
	case own != nil:
		return own(q, k, r.cos, r.sin)
	}
	return applyRotary(q, k, r.cos, r.sin)
}

// ligerExperts is LigerExperts.forward.
func (m *moeBlock) ligerExperts(hidden, index, weights *shadow.Tensor) *shadow.Tensor {
	fn := hidden.World().Func(hidden, index, weights)
	x := fn.Let(hidden.View(-1, hidden.Size(-1)))
	chosen := fn.Let(index.View(-1, m.chosen).To(shadow.Int32))
	share := fn.Let(weights.View(-1, m.chosen))
	out := fn.Let(x.LigerExperts(m.gateUp, m.down, chosen, share))
	return fn.Return(out.ViewAs(hidden.Shape()))
}

// ligerLoss is the end of lce_forward: it computes the loss without logits, directly from lm_head's weight.
func (h *causalHead) ligerLoss(hidden *shadow.Tensor, b Batch) *shadow.Tensor {
	fn := hidden.World().Func(hidden)
	kept := fn.Let(hidden.Alias()) // hidden_states[:, slice_indices, :]
	return fn.Return(h.calling.averaged(hidden.World().Call(&ligerCausalLoss{h.lm.Path, h.lm.Weight, b.Labels}, kept)))
}

// ligerCausalLoss is LigerForCausalLMLoss.
type ligerCausalLoss struct {
	shadow.Path
	weight, labels *shadow.Tensor
}

func (l *ligerCausalLoss) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	labels := fn.Let(l.labels.Pad(0, 1))
	shift := fn.Let(labels.Slice(-1, 1, labels.Size(-1)).Contiguous())
	fn.Set(&hidden, hidden.View(-1, hidden.Size(-1)))
	fn.Set(&shift, shift.View(-1))
	return hidden.LigerCrossEntropy(l.weight, shift)
}
