// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newGraniteMoE makes Granite with experts in place of its MLPs
// (transformers/models/granitemoe/modeling_granitemoe.py).
func newGraniteMoE(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Transformers != 0 && run.Transformers < expertModules {
		return nil, refuse("versions.transformers", "granitemoe is simulated only for transformers 5; use 5")
	}
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 32, inter: 11008, vocab: 32000})
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	moe := moeShape{experts: c.experts("num_local_experts", 8), chosen: c.Positive("num_experts_per_tok", 2), inter: s.inter}
	c.noRouterLogits()
	c.chosenFit(&moe)
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout = c.Float("attention_dropout", 0)
		return &graniteLayer{
			Path: shadow.Path(at), attn: attn,
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
			mlp:       newGraniteMoEBlock(b, at+".block_sparse_moe", s.hidden, moe, act),
		}
	})
	m.rescaled = true
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	m.head.scaled = true
	return m, nil
}

// graniteMoEBlock is GraniteMoeMoE.
type graniteMoEBlock struct{ *moeBlock }

func newGraniteMoEBlock(b *nn.Builder, at string, hidden int, s moeShape, act activation) *graniteMoEBlock {
	m := &moeBlock{Path: shadow.Path(at), moeShape: s, act: act}
	m.router = b.Parameter(at+".router.weight", s.experts, hidden)
	m.gateUp = b.Parameter(at+".experts.gate_up_proj", s.experts, 2*s.inter, hidden)
	m.down = b.Parameter(at+".experts.down_proj", s.experts, hidden, s.inter)
	return &graniteMoEBlock{m}
}

// Forward is the module's forward.
func (m *graniteMoEBlock) Forward(fn *shadow.Frame, input *shadow.Tensor) *shadow.Tensor {
	B, S, H := input.Size(0), input.Size(1), input.Size(2)
	hidden := fn.Let(input.Reshape(-1, H)) // (T, H)
	logits, weights, index := m.route(hidden)
	fn.Let(logits)
	fn.Let(weights)
	fn.Let(index)
	out := fn.Let(m.forwardExperts(hidden, index, weights))
	return out.View(B, S, H)
}

// route is GraniteMoeTopKRouter.forward: the softmax is over the chosen experts only.
func (m *graniteMoEBlock) route(hidden *shadow.Tensor) (logits, weights, index *shadow.Tensor) {
	fn := hidden.World().Func(hidden)
	logits = fn.Let(hidden.Linear(m.router, nil).Float()) // (T, E)
	top, index := logits.TopK(m.chosen)                   // (T, K)
	fn.Let(top)
	fn.Let(index)
	weights = fn.Let(top.Softmax(shadow.None).To(hidden.DType()))
	return fn.Return3(logits, weights, index)
}
