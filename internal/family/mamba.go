// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Mamba: transformers/models/mamba/modeling_mamba.py, without the fused kernels
// of the mamba-ssm and causal-conv1d packages: the scan is a loop over tokens.

type mamba struct {
	net
	vocab  int
	embed  *nn.Embedding
	layers []*mambaBlock
	norm   *rmsNorm
	lmHead *nn.Linear
	mask   *shadow.Tensor // for the current batch

	maskOfOnes bool // a mask of ones is detected and dropped
}

// maxMambaLayers limits the number of simulated layers, each of which loops over tokens. The largest published
// model has a quarter as many.
const maxMambaLayers = 256

func newMamba(b *nn.Builder, c *Config, run Run) (Model, error) {
	if n := c.Int("num_hidden_layers", 32); n > maxMambaLayers {
		return nil, fmt.Errorf("config key \"num_hidden_layers\" is %d; mamba runs token by token and is simulated with at most %d layers", n, maxMambaLayers)
	}
	hidden := c.Positive("hidden_size", 768)
	rank := (hidden + 15) / 16
	if c.keys["time_step_rank"] != "auto" {
		rank = c.Positive("time_step_rank", rank)
	}
	return newMambaLike(b, c, run, hidden, 50280, 32, func(m *mamba, at string) mambaLikeMixer {
		return newMambaMixer(b, c, m, at, hidden, rank)
	})
}

// newMambaLike makes MambaForCausalLM or Mamba2ForCausalLM around their mixers.
func newMambaLike(b *nn.Builder, c *Config, run Run, hidden, vocab, layers int, mix func(m *mamba, at string) mambaLikeMixer) (Model, error) {
	m := &mamba{net: net{b.W, run}, vocab: c.Positive("vocab_size", vocab)}
	m.embed = b.Embedding("backbone.embeddings", m.vocab, hidden)
	for i := range c.Int("num_hidden_layers", layers) {
		at := fmt.Sprintf("backbone.layers.%d", i)
		l := &mambaBlock{Path: shadow.Path(at), fp32: c.Bool("residual_in_fp32", true)}
		l.norm = newRMSNorm(b, run, at+".norm", hidden)
		l.mixer = mix(m, at+".mixer")
		m.layers = append(m.layers, l)
	}
	m.norm = newRMSNorm(b, run, "backbone.norm_f", hidden)
	for _, l := range m.layers {
		l.mixer.initWeights()
	}
	m.lmHead = b.Linear("lm_head", hidden, m.vocab, false)
	if c.Bool("tie_word_embeddings", c.ModelType() == "mamba") {
		b.Tie(&m.lmHead.Weight, m.embed.Weight)
	}
	return m, nil
}

func (m *mamba) Batch() Batch { return m.textBatch() }

// Loss is MambaForCausalLM.forward.
func (m *mamba) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	hidden := fn.Let(m.forward(b))
	m.run.Calling.tieState(hidden)
	defer m.w.As(shadow.Logits)()
	logits := fn.Let(m.lmHead.Call(hidden.Alias().To(m.lmHead.Weight.DType())).Float())
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(causalLoss(logits, b.Labels, m.vocab, lossPath{}, m.run.Calling))
}

// forward is MambaModel.forward.
func (m *mamba) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	m.mask = b.Mask
	if m.maskOfOnes {
		m.recurrentMask(b.Mask)
		m.mask = nil
	}
	hidden := fn.Let(embeds)
	for _, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden))
	}
	fn.Set(&hidden, m.norm.Call(hidden))
	return fn.Return(hidden)
}

// recurrentMask is create_recurrent_attention_mask.
func (m *mamba) recurrentMask(mask *shadow.Tensor) {
	if mask != nil && mask.Size(1) > 1 {
		shadow.Item(mask.Compare("eq").All())
	}
}

// mambaLikeMixer is a mixer that computes its initial weights.
type mambaLikeMixer interface {
	shadow.Module
	initWeights()
}

// initTimeStep is the second half of init_mamba_weights: random time steps, one per channel, and their inverse
// under softplus. expm1 allocates the same memory as exp.
func initTimeStep(fn *shadow.Frame, w *shadow.World, width int) {
	dt := fn.Let(w.Full(shadow.Float32, width).MulScalar().AddScalar().Exp().Clamp())
	fn.Let(dt.Add(dt.Neg().Exp().Neg().LogPlain()))
}

// mambaBlock is MambaBlock and Mamba2Block. The residual can be kept in float32.
type mambaBlock struct {
	shadow.Path
	norm  *rmsNorm
	mixer mambaLikeMixer
	fp32  bool
}

func (l *mambaBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.norm.Call(hidden.To(l.norm.weight.DType())))
	if l.fp32 {
		fn.Set(&residual, residual.To(shadow.Float32))
	}
	fn.Set(&hidden, hidden.World().Call(l.mixer, hidden))
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

// maskPadding is apply_mask_to_padding_states: x is (B, S, H).
func maskPadding(x, mask *shadow.Tensor) *shadow.Tensor {
	if mask == nil {
		return x
	}
	fn := x.World().Func(x, mask)
	dtype := x.DType()
	return fn.Return(x.Mul(mask.Unsqueeze(2)).To(dtype))
}

// causalConv is causal_conv1d_fn: x is (B, C, S), the weight is (C, 1, K). The output is as long as the input.
func causalConv(x, weight, bias *shadow.Tensor, act activation) *shadow.Tensor {
	fn := x.World().Func(x)
	flat := fn.Let(weight.Squeeze(1)) // (C, K)
	seq := x.Size(2)
	out := fn.Let(x.To(weight.DType()).Conv1dDepthwise(flat.Unsqueeze(1), bias, weight.Size(2)-1).Slice(2, 0, seq))
	fn.Set(&out, act(out))
	return fn.Return(out.To(x.DType()))
}
