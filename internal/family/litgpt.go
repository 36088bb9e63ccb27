// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// LitGPT's GPT (litgpt 0.5.13, model.py and lora.py) for models like Llama, with the loss that finetune/lora.py and
// finetune/full.py compute from its logits. In October 2023, with PyTorch 2.1, norms and rotation were computed in
// the model's own type, and keys and values were repeated before the rotation (lit-gpt 8641822). Later code
// computes norms and rotation in float32. Modules have transformers' names, so that adapter targets are the same.

// ExternalLoss is a model whose loss is computed by the training loop, not by its forward.
type ExternalLoss interface {
	Model
	// Outputs is the model's forward; it returns the part of the outputs that the backward reaches first.
	Outputs(b Batch) *shadow.Tensor
	// LossOf returns the loss of the last outputs.
	LossOf(b Batch) *shadow.Tensor
}

// LitGPTTargets are the names of the adaptable parts of LitGPT's blocks.
var LitGPTTargets = []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}

// litGPT is GPT.
type litGPT struct {
	net
	embed    *nn.Embedding
	layers   []*litBlock
	norm     *litNorm
	head     *nn.Linear
	cos, sin *shadow.Tensor
	vocab    int
	returned []*shadow.Tensor // what forward returned: the logits, in chunks if adapters are trained
	logits   []*shadow.Tensor // the loop's variable logits, in float32, which lives until the next forward has returned
}

// newLitGPT makes GPT, which keeps cosines and sines for all positions. The head is never tied to the embeddings: a
// tied weight in a checkpoint is loaded into both layers (scripts/convert_hf_checkpoint.py), and finetuning refuses
// train.tie_embeddings.
func newLitGPT(b *nn.Builder, run Run, s llamaShape) Model {
	run.Reentrant = false // checkpoint_wrapper's default
	m := &litGPT{net: net{b.W, run}, vocab: s.vocab}
	m.head = b.AdaptedLinear(run.Lora, "lm_head", s.hidden, s.vocab, false)
	m.embed = b.Embedding("model.embed_tokens", s.vocab, s.hidden)
	for i := range s.layers {
		m.layers = append(m.layers, newLitBlock(b, m, fmt.Sprintf("model.layers.%d", i), s))
	}
	m.norm = newLitNorm(b, run, "model.norm", s.hidden)
	angles := shadow.Float32
	if run.LitGPT.Flat {
		angles = b.DType // MixedPrecision's buffer_dtype
	}
	m.cos = b.Buffer(angles, run.Seq, s.dim)
	m.sin = b.Buffer(angles, run.Seq, s.dim)
	if run.Lora.Rank > 0 {
		b.TrainAdapters()
	}
	return m
}

func (m *litGPT) Batch() Batch { return m.textBatch() }

// Loss runs the forward and returns its loss.
func (m *litGPT) Loss(b Batch) *shadow.Tensor {
	m.Outputs(b)
	return m.LossOf(b)
}

// Outputs is GPT.forward: with adapters, lm_head is called on chunks of the sequence.
func (m *litGPT) Outputs(b Batch) *shadow.Tensor {
	fn := m.w.Func(b.IDs)
	x := m.embed.Call(b.IDs)
	fn.Let(x) // (B, T, C)
	for _, l := range m.layers {
		fn.Set(&x, m.layer(l, x, m.cos, m.sin))
	}
	fn.Set(&x, m.norm.Call(x))
	parts := []*shadow.Tensor{x}
	if m.run.Lora.Rank > 0 && !m.w.Eval {
		parts = x.Split(1, chunksOf(x.Size(1), litChunk)...)
	}
	for _, part := range parts {
		m.returned = append(m.returned, m.head.Call(part).Hold())
	}
	fn.Return(nil)
	return m.returned[len(m.returned)-1]
}

// litBlock is Block.
type litBlock struct {
	shadow.Path
	norm1, norm2 *litNorm
	attn         *litAttention
	mlp          *litMLP
}

func newLitBlock(b *nn.Builder, m *litGPT, at string, s llamaShape) *litBlock {
	return &litBlock{
		Path:  shadow.Path(at),
		norm1: newLitNorm(b, m.run, at+".input_layernorm", s.hidden),
		attn:  newLitAttention(b, m, at+".self_attn", s),
		norm2: newLitNorm(b, m.run, at+".post_attention_layernorm", s.hidden),
		mlp:   newLitMLP(b, m.run.Lora, at+".mlp", s),
	}
}

func (l *litBlock) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	normed := fn.Let(l.norm1.Call(x))
	h := fn.Let(x.World().Call(l.attn, normed))
	fn.Set(&x, x.Add(h))
	fn.Set(&x, x.Add(x.World().Call(l.mlp, l.norm2.Call(x))))
	return x
}

// litMLP is LLaMAMLP.
type litMLP struct {
	shadow.Path
	fc1, fc2, proj *nn.Linear
}

func newLitMLP(b *nn.Builder, l nn.Lora, at string, s llamaShape) *litMLP {
	return &litMLP{
		Path: shadow.Path(at),
		fc1:  b.AdaptedLinear(l, at+".gate_proj", s.hidden, s.inter, s.mlpBias),
		fc2:  b.AdaptedLinear(l, at+".up_proj", s.hidden, s.inter, s.mlpBias),
		proj: b.AdaptedLinear(l, at+".down_proj", s.inter, s.hidden, s.mlpBias),
	}
}

func (m *litMLP) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	fc1 := fn.Let(m.fc1.Call(x))
	fc2 := fn.Let(m.fc2.Call(x))
	fn.Set(&x, fc1.SiLU().Mul(fc2))
	return m.proj.Call(x)
}

// litNorm is RMSNorm.
type litNorm struct {
	shadow.Path
	weight *shadow.Tensor
	own    bool // computed in the model's type
}

func newLitNorm(b *nn.Builder, run Run, at string, width int) *litNorm {
	return &litNorm{Path: shadow.Path(at), weight: b.Parameter(at+".weight", width), own: run.LitGPT.First}
}

func (n *litNorm) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(n, x) }

func (n *litNorm) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	dtype := x.DType()
	if !n.own {
		fn.Set(&x, x.Float())
	}
	mean := fn.Let(x.Mul(x).Mean(true, -1))
	normed := fn.Let(x.Mul(mean.AddScalar().Rsqrt()))
	if n.own {
		return n.weight.Mul(normed)
	}
	return normed.Mul(n.weight.Float()).To(dtype)
}
