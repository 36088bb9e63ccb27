// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newGLM4 makes GLM-4: GLM with additional norms after attention and MLP
// (transformers/models/glm4/modular_glm4.py).
func newGLM4(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readGLM(c)
	return newGLMLike(b, c, run, s, func(m *llama, _ int, at string) shadow.Module {
		return &glm4Layer{
			Path: shadow.Path(at), attn: newGLMAttention(b, c, m, at, s),
			mlp:      newGLMMLP(b, c, run, at+".mlp", s),
			input:    newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			post:     newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
			postAttn: newRMSNorm(b, run, at+".post_self_attn_layernorm", s.hidden),
			postFeed: newRMSNorm(b, run, at+".post_mlp_layernorm", s.hidden),
		}
	}), nil
}

type glm4Layer struct {
	shadow.Path
	attn                            *llamaAttention
	mlp                             *phi3MLP
	input, post, postAttn, postFeed *rmsNorm
}

func (l *glm4Layer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.input.Call(hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, l.postAttn.Call(hidden))
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.post.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, l.postFeed.Call(hidden))
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}
