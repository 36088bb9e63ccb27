// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Gemma 2: transformers/models/gemma2/modeling_gemma2.py. It has Llama's attention, four norms per layer,
// a sliding window in every other layer, and logits capped by a tanh.

func newGemma2(b *nn.Builder, c *Config, run Run) (Model, error) {
	return newGemma(b, c, run, gemmaShape{
		vocab: 256000, slides: func(i int) bool { return (i+1)%2 != 0 },
		softcap: !c.null("final_logit_softcapping"),
		attention: func(a *llamaAttention) shadow.Module2 {
			// The allocations for capping are in attention.go for scores and in causal.go for logits.
			a.softcap = !c.null("attn_logit_softcapping")
			return a
		},
		rotary: func(dim int, _ []int) layerRotary { return sharedRotary(b, c, dim) },
	}), nil
}

// gemmaShape holds the differences between Gemma 2 and later generations.
type gemmaShape struct {
	vocab     int
	slides    func(i int) bool                       // whether a layer has a sliding window
	softcap   bool                                   // logits are capped
	attention func(a *llamaAttention) shadow.Module2 // replaces Llama's attention
	rotary    func(dim int, windows []int) layerRotary
}

// newGemma makes Gemma2ForCausalLM and similar models.
func newGemma(b *nn.Builder, c *Config, run Run, s gemmaShape) *llama {
	hidden := c.Positive("hidden_size", 2304)
	heads := c.Positive("num_attention_heads", 8)
	c.HeadDim(hidden, heads)
	c.refuse("use_bidirectional_attention")
	kv, dim := c.kvHeads(heads, 4), c.Positive("head_dim", 256)
	layers := c.Int("num_hidden_layers", 26)
	bias := c.Bool("attention_bias", false)
	window := c.window(4096)
	if window == 0 {
		c.fail("sliding_window", "a number of tokens")
	}
	windows := c.layerWindows(layers, window, s.slides)
	m := &llama{net: net{b.W, run}}
	m.masks = &layerMasks{windows: windows, window: window, both: true}
	m.embed = b.Embedding(run.at("embed_tokens"), c.Positive("vocab_size", s.vocab), hidden)
	m.embed.Scale = b.Buffer(b.DType)
	act := c.activation("hidden_activation", "gelu_pytorch_tanh")
	for i := range layers {
		at := fmt.Sprintf("%s.%d", run.at("layers"), i)
		l := &gemma2Layer{Path: shadow.Path(at)}
		attn := newLlamaAttention(b, m, at+".self_attn", llamaShape{hidden: hidden, heads: heads, kv: kv, dim: dim, qkvBias: bias, oBias: bias})
		attn.window, attn.dropout = windows[i], c.Float("attention_dropout", 0)
		l.attn = s.attention(attn)
		l.mlp = newLlamaMLP(b, run, at+".mlp", hidden, c.Positive("intermediate_size", 9216), false, act)
		l.input = newGemma2Norm(b, run, at+".input_layernorm", hidden)
		l.postAttn = newGemma2Norm(b, run, at+".post_attention_layernorm", hidden)
		l.preFeed = newGemma2Norm(b, run, at+".pre_feedforward_layernorm", hidden)
		l.postFeed = newGemma2Norm(b, run, at+".post_feedforward_layernorm", hidden)
		m.layers = append(m.layers, l)
	}
	m.norm = newGemma2Norm(b, run, run.at("norm"), hidden)
	m.rotary = s.rotary(dim, windows)
	m.head = newCausalHead(b, c, run, hidden, m.embed, true)
	m.head.softcap = s.softcap
	return m
}

type gemma2Layer struct {
	shadow.Path
	attn                               shadow.Module2
	mlp                                *llamaMLP
	input, postAttn, preFeed, postFeed *gemma2Norm
}

func (l *gemma2Layer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.input.Call(hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, l.postAttn.Call(hidden))
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.preFeed.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, l.postFeed.Call(hidden))
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

// gemma2Norm is Gemma2RMSNorm: it scales by one plus the weight in float32, then casts back.
type gemma2Norm struct {
	shadow.Path
	weight *shadow.Tensor
	liger  bool
}

func newGemma2Norm(b *nn.Builder, run Run, at string, width int) *gemma2Norm {
	return &gemma2Norm{shadow.Path(at), b.Parameter(at+".weight", width), run.liger("norm")}
}

func (n *gemma2Norm) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(n, x) }

func (n *gemma2Norm) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	if n.liger {
		return x.LigerRMSNorm(n.weight, false)
	}
	output := fn.Let(unitRMS(x.Float()))
	fn.Set(&output, output.Mul(n.weight.Float().AddScalar()))
	return output.To(x.DType())
}

// unitRMS is Gemma2RMSNorm._norm.
func unitRMS(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	return fn.Return(x.Mul(x.Pow().Mean(true, -1).AddScalar().Rsqrt()))
}
