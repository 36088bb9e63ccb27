// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Mixtures of experts, as transformers runs them by default
// (integrations/moe.py, grouped_mm): tokens are sorted by expert and all experts run in one grouped product, so
// no size depends on the routing.

// moeShape holds the differences between families with experts.
type moeShape struct {
	experts, chosen, inter int
	every                  int          // one in this many layers has experts
	dense                  []int        // layers without experts
	routerFirst            bool         // the constructor makes the router first
	normalized             bool         // the chosen weights sum to one
	scores                 shadow.DType // type of the weights; None means the logits' type
	block                  string       // name of the block in a layer, in transformers 4
	linears                [3]string    // names of an expert's linear layers in transformers 4: gate, up, down
}

// sparse reports whether layer i has experts.
func (m *moeShape) sparse(i int) bool {
	return !slices.Contains(m.dense, i) && (i+1)%m.every == 0
}

// moeBlock is MixtralSparseMoeBlock or Qwen3MoeSparseMoeBlock.
type moeBlock struct {
	shadow.Path
	moeShape
	router       *shadow.Tensor // (E, H)
	gateUp, down *shadow.Tensor // (E, 2I, H), (E, H, I)
	act          activation
	liger        bool

	gateUpBias, downBias *shadow.Tensor // biases of the experts, in gpt-oss
	transposed           bool           // weights are (E, H, 2I) and (E, I, H)
	gate                 activation     // what follows gateUp; nil means applyGate
}

func newMoeBlock(b *nn.Builder, run Run, at string, hidden int, s moeShape, act activation) *moeBlock {
	m := &moeBlock{Path: shadow.Path(at), moeShape: s, act: act, liger: run.liger("mlp")}
	router := func() { m.router = b.Parameter(at+".gate.weight", s.experts, hidden) }
	if s.routerFirst {
		router()
	}
	m.gateUp = b.Parameter(at+".experts.gate_up_proj", s.experts, 2*s.inter, hidden)
	m.down = b.Parameter(at+".experts.down_proj", s.experts, hidden, s.inter)
	if !s.routerFirst {
		router()
	}
	return m
}

func (m *moeBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	B, S, H := hidden.Size(0), hidden.Size(1), hidden.Size(2)
	fn.Set(&hidden, hidden.View(-1, H)) // (T, H)
	logits, weights, index := m.route(hidden)
	fn.Let(logits)
	fn.Let(weights)
	fn.Let(index)
	fn.Set(&hidden, m.forwardExperts(hidden, index, weights))
	return hidden.Reshape(B, S, H)
}

// route is TopKRouter: it returns each token's experts and their weights.
func (m *moeBlock) route(hidden *shadow.Tensor) (logits, weights, index *shadow.Tensor) {
	fn := hidden.World().Func(hidden)
	fn.Set(&hidden, hidden.Reshape(-1, hidden.Size(-1)))
	logits = fn.Let(hidden.Linear(m.router, nil)) // (T, E)
	probs := fn.Let(m.softmax(logits))
	top, index := probs.TopK(m.chosen) // (T, K)
	fn.Let(top)
	fn.Let(index)
	if m.normalized {
		fn.Set(&top, top.DivTo(top.Sum(true, -1)))
	}
	if m.scores == shadow.None {
		fn.Set(&top, top.To(logits.DType()))
	}
	return fn.Return3(logits, top, index)
}

// softmax runs in float32. Mixtral casts first, Qwen3 passes the type to softmax.
func (m *moeBlock) softmax(logits *shadow.Tensor) *shadow.Tensor {
	if m.scores == shadow.None {
		return logits.Softmax(shadow.Float32)
	}
	return logits.Float().Softmax(shadow.None)
}

// forwardExperts is grouped_mm_experts_forward.
func (m *moeBlock) forwardExperts(hidden, index, weights *shadow.Tensor) *shadow.Tensor {
	if m.liger {
		return m.ligerExperts(hidden, index, weights)
	}
	w, dtype := hidden.World(), hidden.DType()
	fn := w.Func(hidden, index, weights)
	sample := fn.Let(weights.Reshape(-1)) // (T·K,)
	ids := fn.Let(index.Reshape(-1))
	idsG, perm := ids.Sort()
	fn.Let(idsG)
	fn.Let(perm)
	selected := fn.Let(hidden.Rows(perm.FloorDivide())) // (T·K, H)
	sampleG := fn.Let(sample.Rows(perm))
	counted := fn.Let(idsG.To(shadow.Int32))
	tokens := fn.Let(counted.Histc(m.experts))
	offsets := fn.Let(tokens.Offsets())
	sentinel := fn.Let(idsG.Compare("ge").Unsqueeze(-1)) // (T·K, 1)
	biases := fn.Let(rowsOf(m.gateUpBias, idsG))         // (T·K, 2I)
	fn.Set(&selected, selected.MaskedFillTo(sentinel))

	out := fn.Let(m.groupedLinear(selected, m.gateUp, offsets, biases)) // (T·K, 2I)
	fn.Set(&out, out.MaskedFill(sentinel))
	fn.Set(&out, m.applyGate(out)) // (T·K, I)
	fn.Set(&biases, rowsOf(m.downBias, idsG))
	fn.Set(&out, m.groupedLinear(out, m.down, offsets, biases))
	fn.Set(&out, out.MaskedFill(sentinel)) // (T·K, H)

	weighted := fn.Let(out.Mul(sampleG.Unsqueeze(-1)))
	inverse := fn.Let(perm.Inverse())
	fn.Set(&weighted, weighted.Rows(inverse))
	final := fn.Let(weighted.View(hidden.Size(0), m.chosen, hidden.Size(1)).Sum(false, 1)) // (T, H)
	return fn.Return(final.To(dtype))
}

// rowsOf returns the biases of each token's expert, or nil if experts have none.
func rowsOf(biases, ids *shadow.Tensor) *shadow.Tensor {
	if biases == nil {
		return nil
	}
	return biases.Rows(ids)
}

// groupedLinear is _grouped_linear. Autocast does not handle grouped products, so the input is cast to the
// weight's type.
func (m *moeBlock) groupedLinear(x, weight, offsets, bias *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x, weight, bias)
	t := weight
	if !m.transposed {
		t = fn.Let(weight.Transpose(-2, -1))
	}
	out := fn.Let(x.To(t.DType()).GroupedMm(t, offsets))
	if bias != nil {
		fn.Set(&out, out.AddInPlace(bias))
	}
	return fn.Return(out)
}

// applyGate is _default_apply_gate, or the model's own.
func (m *moeBlock) applyGate(x *shadow.Tensor) *shadow.Tensor {
	if m.gate != nil {
		return m.gate(x)
	}
	fn := x.World().Func(x)
	halves := x.Chunk(2, -1)
	gate, up := fn.Let(halves[0]), fn.Let(halves[1])
	return fn.Return(m.act(gate).Mul(up))
}
