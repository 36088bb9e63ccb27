// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// gpt-oss: transformers/models/gpt_oss/modeling_gpt_oss.py. Every other layer has a sliding window, every head has an
// attention sink, and experts have biases. There is no SDPA.

func newGPTOSS(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Transformers != 0 && run.Transformers < expertModules {
		return nil, refuse("versions.transformers", "gpt_oss is simulated only for transformers 5; use 5")
	}
	run, err := run.eagerOnly("gpt_oss")
	if err != nil {
		return nil, err
	}
	s := readDecoder(c, llamaShape{hidden: 2880, layers: 36, heads: 64, kv: 8, inter: 2880, vocab: 201088})
	if !c.Has("head_dim") {
		s.dim = 64
	}
	s.qkvBias = c.Bool("attention_bias", true)
	s.oBias = s.qkvBias
	window := c.window(128)
	s.masks = layerMasks{windows: c.layerWindows(s.layers, window, func(i int) bool { return i%2 == 0 }), window: window, both: true, whole: true}
	moe := moeShape{experts: c.experts("num_local_experts", 128), chosen: c.Positive("num_experts_per_tok", 4), inter: s.inter}
	c.noRouterLogits()
	c.chosenFit(&moe)
	m := newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.window, attn.rotate = c.Float("attention_dropout", 0), s.masks.windows[i], gptOSSRotary
		attn.sinks = b.Parameter(at+".self_attn.sinks", s.heads)
		return &gptOSSLayer{
			Path: shadow.Path(at), attn: attn,
			mlp:       newGPTOSSMLP(b, at+".mlp", s.hidden, moe),
			inputNorm: newOLMo2Norm(b, at+".input_layernorm", s.hidden),
			postNorm:  newOLMo2Norm(b, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.norm = newOLMo2Norm(b, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.rotary.full.half = true
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

// gptOSSLayer is GptOssDecoderLayer. The attention weights live until the experts are done, the routing weights until
// it returns.
type gptOSSLayer struct {
	shadow.Path
	attn                *llamaAttention
	mlp                 *gptOSSMLP
	inputNorm, postNorm *olmo2Norm
}

func (l *gptOSSLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, w.Call(l.inputNorm, hidden))
	out, other := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(other)
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, w.Call(l.postNorm, hidden))
	out, scores := w.Call2(l.mlp, hidden)
	fn.Set2(&hidden, out, &other, scores)
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

// sinkAttention is eager_attention_forward of gpt-oss: each head's sink is one more score, which is dropped after the
// softmax.
func (n net) sinkAttention(q, k, v *shadow.Tensor, a attending) (out, weights *shadow.Tensor) {
	fn := n.w.Func(q, k, v, a.mask)
	groups := q.Size(1) / k.Size(1)
	keys := fn.Let(repeatKV(k, groups))
	values := fn.Let(repeatKV(v, groups))
	fn.Set(&weights, q.Matmul(keys.Transpose(2, 3)).MulScalar()) // (B, H, S, S)
	if a.mask != nil {
		fn.Set(&weights, weights.Add(a.mask))
	}
	sink := fn.Let(a.sinks.Reshape(1, -1, 1, 1).Expand(q.Size(0), -1, q.Size(2), -1)) // (B, H, S, 1)
	combined := fn.Let(shadow.Cat(-1, weights, sink))                                 // (B, H, S, S + 1)
	most, index := combined.Extreme("max", true, -1)
	index.Hold().Drop()
	fn.Set(&combined, combined.Sub(most))
	probs := fn.Let(combined.Softmax(combined.DType()))
	scores := fn.Let(probs.Slice(-1, 0, k.Size(2)))
	fn.Set(&weights, scores.Dropout(a.dropout).To(values.DType()))
	fn.Set(&out, weights.Matmul(values)) // (B, H, S, D)
	fn.Set(&out, out.Transpose(1, 2).Contiguous())
	return fn.Return2(out, weights)
}

// gptOSSRotary is apply_rotary_pos_emb of gpt-oss: cosines and sines cover half a head.
func gptOSSRotary(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	fn.Set(&cos, cos.Unsqueeze(1))
	fn.Set(&sin, sin.Unsqueeze(1))
	qe := fn.Let(rotatedHalves(q, cos, sin))
	ke := fn.Let(rotatedHalves(k, cos, sin))
	return fn.Return2(qe, ke)
}

func rotatedHalves(x, cos, sin *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x, cos, sin)
	halves := x.Chunk(2, -1)
	first, second := fn.Let(halves[0]), fn.Let(halves[1])
	one := fn.Let(first.Mul(cos).Sub(second.Mul(sin)))
	two := fn.Let(second.Mul(cos).Add(first.Mul(sin)))
	return fn.Return(shadow.Cat(-1, one, two))
}

// gptOSSMLP is GptOssMLP: a router with a bias, and experts with biases, whose gates and values alternate.
type gptOSSMLP struct {
	*moeBlock
	bias *shadow.Tensor // of the router
}

func newGPTOSSMLP(b *nn.Builder, at string, hidden int, s moeShape) *gptOSSMLP {
	m := &gptOSSMLP{moeBlock: &moeBlock{Path: shadow.Path(at), moeShape: s, transposed: true, gate: gptOSSGate}}
	m.router = b.Parameter(at+".router.weight", s.experts, hidden)
	m.bias = b.Parameter(at+".router.bias", s.experts)
	m.gateUp = b.Parameter(at+".experts.gate_up_proj", s.experts, hidden, 2*s.inter)
	m.gateUpBias = b.Parameter(at+".experts.gate_up_proj_bias", s.experts, 2*s.inter)
	m.down = b.Parameter(at+".experts.down_proj", s.experts, s.inter, hidden)
	m.downBias = b.Parameter(at+".experts.down_proj_bias", s.experts, hidden)
	return m
}

func (m *gptOSSMLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S, H := hidden.Size(0), hidden.Size(1), hidden.Size(2)
	fn.Set(&hidden, hidden.Reshape(-1, H)) // (T, H)
	logits, scores, index := m.route(hidden)
	fn.Let(logits)
	fn.Let(scores)
	fn.Let(index)
	fn.Set(&hidden, m.forwardExperts(hidden, index, scores))
	fn.Set(&hidden, hidden.Reshape(B, S, H))
	return hidden, scores
}

// route is GptOssTopKRouter.forward: the softmax is over the chosen experts only.
func (m *gptOSSMLP) route(hidden *shadow.Tensor) (logits, scores, index *shadow.Tensor) {
	fn := hidden.World().Func(hidden)
	logits = fn.Let(hidden.Linear(m.router, m.bias)) // (T, E)
	top, index := logits.TopK(m.chosen)              // (T, K)
	fn.Let(top)
	fn.Let(index)
	scores = fn.Let(top.Softmax(top.DType()))
	return fn.Return3(logits, scores, index)
}

// gptOSSGate is GptOssExperts._apply_gate.
func gptOSSGate(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	width := x.Size(-1)
	gate := fn.Let(x.SliceStep(-1, 0, width, 2)) // (T·K, I)
	up := fn.Let(x.SliceStep(-1, 1, width, 2))
	fn.Set(&gate, gate.ClampMax())
	fn.Set(&up, up.Clamp())
	glu := fn.Let(gate.Mul(gate.MulScalar().Sigmoid()))
	out := fn.Let(up.AddScalar().Mul(glu))
	return fn.Return(out)
}
