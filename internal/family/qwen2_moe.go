// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newQwen2MoE makes Qwen2 with experts in place of its MLPs, and one expert shared by every token
// (transformers/models/qwen2_moe/modular_qwen2_moe.py).
func newQwen2MoE(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Transformers != 0 && run.Transformers < expertModules {
		return nil, refuse("versions.transformers", "qwen2_moe is simulated only for transformers 5; use 5")
	}
	s := readDecoder(c, llamaShape{hidden: 2048, layers: 24, heads: 16, kv: 16, inter: 5632, vocab: 151936})
	s.qkvBias = c.Bool("qkv_bias", true)
	s.masks = qwen2MoEMasks(c, s.layers)
	moe := moeShape{
		experts: c.experts("num_experts", 60), chosen: c.Positive("num_experts_per_tok", 4),
		inter: c.Positive("moe_intermediate_size", 1408), every: c.Positive("decoder_sparse_step", 1),
		dense: c.Ints("mlp_only_layers"), normalized: c.Bool("norm_topk_prob", false), routerFirst: true,
	}
	c.noRouterLogits()
	c.chosenFit(&moe)
	shared := c.Positive("shared_expert_intermediate_size", 5632)
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.window = c.Float("attention_dropout", 0), s.masks.windows[i]
		l := &llamaLayer{Path: shadow.Path(at), attn: attn}
		if moe.sparse(i) {
			l.mlp = &qwen2MoEBlock{
				moeBlock:   newMoeBlock(b, run, at+".mlp", s.hidden, moe, act),
				shared:     newLlamaMLP(b, run, at+".mlp.shared_expert", s.hidden, shared, false, act),
				sharedGate: b.Linear(at+".mlp.shared_expert_gate", s.hidden, 1, false),
			}
		} else {
			l.mlp = newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act)
		}
		l.inputNorm = newRMSNorm(b, run, at+".input_layernorm", s.hidden)
		l.postNorm = newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden)
		return l
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

// qwen2MoEMasks returns the masks. The sliding-window mask is made even if no layer uses it. Its window is then 0
// tokens, but it takes as much memory as any other.
func qwen2MoEMasks(c *Config, layers int) layerMasks {
	if !c.Bool("use_sliding_window", false) {
		return layerMasks{windows: make([]int, layers), window: 1, both: true}
	}
	window, until := c.window(4096), c.Int("max_window_layers", 28)
	return layerMasks{windows: c.layerWindows(layers, window, func(i int) bool { return (i+1)%2 != 0 && i < until }), window: window, both: true}
}

// qwen2MoEBlock is Qwen2MoeSparseMoeBlock.
type qwen2MoEBlock struct {
	*moeBlock
	shared     *llamaMLP
	sharedGate *nn.Linear
}

func (m *qwen2MoEBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	B, S, H := hidden.Size(0), hidden.Size(1), hidden.Size(2)
	flat := fn.Let(hidden.View(-1, H)) // (T, H)
	shared := fn.Let(w.Call(m.shared, flat))
	logits, weights, index := m.route(flat)
	fn.Let(logits)
	fn.Let(weights)
	fn.Let(index)
	out := fn.Let(m.forwardExperts(flat, index, weights))
	fn.Set(&shared, m.sharedGate.Call(flat).Sigmoid().Mul(shared))
	fn.Set(&out, out.Add(shared))
	fn.Set(&out, out.Reshape(B, S, H))
	return out
}
