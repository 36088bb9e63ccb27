// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Mixtures of experts as transformers 4 runs them (models/mixtral/modeling_mixtral.py, 4.36 to 4.57): each expert
// is a module with its own linear layers, which bitsandbytes quantizes like any other, and experts run one after
// the other on the tokens that chose them. The number of tokens per expert depends on the values; the simulation
// assumes that it is the same for all experts.

// expertModules is the first release in which one parameter holds all experts.
const expertModules = 500

// newExperts makes a layer's experts as in the run's release of transformers.
func newExperts(b *nn.Builder, run Run, layer string, hidden int, s moeShape, act activation) shadow.Module {
	if run.Transformers == 0 || run.Transformers >= expertModules {
		return newMoeBlock(b, run, layer+".mlp", hidden, s, act)
	}
	at := layer + "." + s.block
	m := &expertList{Path: shadow.Path(at), moeShape: s}
	m.gate = b.Linear(at+".gate", hidden, s.experts, false)
	m.gate.Router = true
	for i := range s.experts {
		e := fmt.Sprintf("%s.experts.%d.", at, i)
		m.mlps = append(m.mlps, &llamaMLP{
			Path: shadow.Path(e[:len(e)-1]), act: act, liger: run.liger("mlp"),
			gate: b.Linear(e+s.linears[0], hidden, s.inter, false),
			up:   b.Linear(e+s.linears[1], hidden, s.inter, false),
			down: b.Linear(e+s.linears[2], s.inter, hidden, false),
		})
	}
	return m
}

// expertList is MixtralSparseMoeBlock or Qwen3MoeSparseMoeBlock.
type expertList struct {
	shadow.Path
	moeShape
	gate *nn.Linear
	mlps []*llamaMLP
}

func (m *expertList) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	B, S, H := hidden.Size(0), hidden.Size(1), hidden.Size(2)
	fn.Set(&hidden, hidden.View(-1, H))     // (T, H)
	logits := fn.Let(m.gate.Call(hidden))   // (T, E)
	probs := logits.Softmax(shadow.Float32) // float32
	weights, chosen := probs.TopK(m.chosen) // (T, K)
	fn.Let(weights)
	fn.Let(chosen)
	if m.normalized {
		fn.Set(&weights, weights.DivTo(weights.Sum(true, -1)))
	}
	fn.Set(&weights, weights.To(hidden.DType()))
	final := fn.Let(w.Empty(shadow.Dims(B*S, H), hidden.DType()))
	fn.Let(chosen.OneHot(m.experts)) // (T, K, E)
	for i, mlp := range m.mlps {
		m.expert(mlp, m.tokens(B*S, i), hidden, weights, final)
	}
	return final.Reshape(B, S, H)
}

// tokens returns how many tokens choose expert i if experts are chosen evenly.
func (m *moeShape) tokens(all, i int) int {
	n := all * m.chosen / m.experts
	if i < all*m.chosen%m.experts {
		n++
	}
	return n
}

// expert is one iteration of the loop over experts: it runs n tokens and adds their outputs to the result.
func (m *expertList) expert(mlp *llamaMLP, n int, hidden, weights, final *shadow.Tensor) {
	w := hidden.World()
	fn := w.Func()
	which := fn.Let(w.Empty(shadow.Dims(n), shadow.Int64))
	tokens := fn.Let(w.Empty(shadow.Dims(n), shadow.Int64))
	current := fn.Let(hidden.Rows(tokens)) // (n, H)
	out := fn.Let(w.Call(mlp, current).Mul(weights.IndexAt(0, tokens, which).Unsqueeze(-1)))
	final.IndexAddInto(tokens, out.To(hidden.DType()))
	fn.Return(nil)
}
