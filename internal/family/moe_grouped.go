// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Experts of DeepSeek-V3 and its relatives: they are in groups, a token chooses the best groups and then the best
// experts in them, and one expert is shared by all tokens.

type groupedShape struct {
	moeShape
	groups, kept int          // number of expert groups, and how many of them a token may choose from
	shared       int          // experts that every token uses; they are one MLP
	dense        int          // number of layers at the start that have no experts
	soft         bool         // DeepSeek-V2: scores are a softmax, and weights are not normalized
	ungrouped    bool         // tokens choose from all groups
	bias         shadow.DType // type of the scores' bias; None means that of the weights
}

// check records an error for groups that do not fit the experts.
func (s *groupedShape) check(c *Config) {
	if s.experts%s.groups != 0 || s.kept > s.groups {
		c.fail("n_group", "a divisor of the number of experts, and at least topk_group")
		s.groups, s.kept = 1, 1
	}
	c.chosenFit(&s.moeShape)
}

// sharedExperts is DeepseekV3MoE.
type sharedExperts struct {
	*moeBlock
	grouped groupedShape
	bias    *shadow.Tensor // e_score_correction_bias, a buffer; nil in DeepSeek-V2
	shared  *llamaMLP
}

func newSharedExperts(b *nn.Builder, run Run, at string, hidden int, s groupedShape, act activation) *sharedExperts {
	m := &sharedExperts{moeBlock: newMoeBlock(b, run, at, hidden, s.moeShape, act), grouped: s}
	if !s.soft {
		m.bias = b.BufferAt(at+".gate.e_score_correction_bias", cmp.Or(s.bias, b.DType), s.experts)
	}
	m.shared = newLlamaMLP(b, run, at+".shared_experts", hidden, s.shared*s.inter, false, act)
	return m
}

func (m *sharedExperts) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residuals := fn.Let(hidden)
	B, S, H := hidden.Size(0), hidden.Size(1), hidden.Size(2)
	logits, weights, index := m.route(hidden)
	fn.Let(logits)
	fn.Let(weights)
	fn.Let(index)
	fn.Set(&hidden, hidden.View(-1, H)) // (T, H)
	fn.Set(&hidden, m.forwardExperts(hidden, index, weights).View(B, S, H))
	fn.Set(&hidden, hidden.Add(w.Call(m.shared, residuals)))
	return hidden
}

// route is DeepseekV3TopkRouter.forward or DeepseekV2TopkRouter.forward.
func (m *sharedExperts) route(hidden *shadow.Tensor) (logits, weights, index *shadow.Tensor) {
	fn := hidden.World().Func(hidden)
	fn.Set(&hidden, hidden.View(-1, hidden.Size(-1)))                                   // (T, H)
	logits = fn.Let(hidden.To(shadow.Float32).Linear(m.router.To(shadow.Float32), nil)) // (T, E)
	if m.grouped.soft {
		weights, index = m.bestOfSoftmax(fn, logits)
	} else {
		weights, index = m.bestOfSigmoid(fn, logits)
	}
	fn.Set(&weights, weights.MulScalar())
	return fn.Return3(logits, weights, index)
}

// bestOfSigmoid is the choice of experts in DeepSeek-V3: a group's score is the sum of its two best experts' scores.
func (m *sharedExperts) bestOfSigmoid(fn *shadow.Frame, logits *shadow.Tensor) (weights, index *shadow.Tensor) {
	groups := m.grouped.groups
	scores := fn.Let(logits.Sigmoid())                            // (T, E)
	choice := fn.Let(scores.Add(m.bias))                          // (T, E)
	best, at := choice.View(-1, groups, m.experts/groups).TopK(2) // (T, G, 2)
	at.Hold().Drop()
	fn.Set(&choice, m.withoutOthers(fn, choice, fn.Let(best.Sum(false, -1))))
	best, index = choice.TopK(m.chosen) // (T, K)
	best.Hold().Drop()
	fn.Let(index)
	fn.Set(&weights, scores.Pick(index))
	if m.normalized {
		total := fn.Let(weights.Sum(true, -1).AddScalar())
		fn.Set(&weights, weights.DivTo(total))
	}
	return weights, index
}

// bestOfSoftmax is the choice of experts in DeepSeek-V2: a group's score is that of its best expert.
func (m *sharedExperts) bestOfSoftmax(fn *shadow.Frame, logits *shadow.Tensor) (weights, index *shadow.Tensor) {
	groups := m.grouped.groups
	scores := fn.Let(logits.Softmax(shadow.Float32)) // (T, E)
	if !m.grouped.ungrouped {
		best, at := scores.View(-1, groups, m.experts/groups).Extreme("max", false, -1) // (T, G)
		at.Hold().Drop()
		fn.Set(&scores, m.withoutOthers(fn, scores, fn.Let(best)))
	}
	top, index := scores.TopK(m.chosen) // (T, K)
	fn.Set(&weights, top)
	fn.Let(index)
	return weights, index
}

// withoutOthers masks the scores of the groups that a token does not choose.
func (m *sharedExperts) withoutOthers(fn *shadow.Frame, scores, ofGroup *shadow.Tensor) *shadow.Tensor {
	groups := m.grouped.groups
	best, chosen := ofGroup.TopK(m.grouped.kept)
	best.Hold().Drop()
	fn.Let(chosen)
	mask := fn.Let(ofGroup.Plain("zeros_like", ofGroup.DType())) // (T, G)
	wide := fn.Let(mask.Unsqueeze(-1).Expand(-1, groups, m.experts/groups).Reshape(-1, m.experts))
	return scores.MaskedFill(wide.To(shadow.Bool).Not())
}
