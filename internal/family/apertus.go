// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newApertus makes Apertus: Llama with normalized queries and keys, and the MLP of Nemotron with an activation that
// has parameters (transformers/models/apertus/modular_apertus.py).
func newApertus(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 32, inter: 14336, vocab: 131072})
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout = c.Float("attention_dropout", 0)
		return &llamaLayer{
			Path: shadow.Path(at),
			attn: &exaone4Attention{
				llamaAttention: attn,
				qNorm:          newRMSNorm(b, run, at+".self_attn.q_norm", s.dim),
				kNorm:          newRMSNorm(b, run, at+".self_attn.k_norm", s.dim),
			},
			mlp:       newApertusMLP(b, c, at+".mlp", s),
			inputNorm: newRMSNorm(b, run, at+".attention_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".feedforward_layernorm", s.hidden),
		}
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

func newApertusMLP(b *nn.Builder, c *Config, at string, s llamaShape) *nemotronMLP {
	m := newNemotronMLP(b, at, s, nil)
	if c.String("hidden_act", "xielu") == "xielu" {
		m.act = newXIELU(b, at+".act_fn").call
	} else {
		m.act = c.activation("hidden_act", "silu")
	}
	return m
}

// xielu is XIELUActivation without its CUDA kernel, which is in a separate package.
type xielu struct {
	shadow.Path
	alphaP, alphaN *shadow.Tensor // (1)
	beta, eps      *shadow.Tensor // scalars
}

func newXIELU(b *nn.Builder, at string) *xielu {
	return &xielu{
		Path: shadow.Path(at), alphaP: b.Parameter(at+".alpha_p", 1), alphaN: b.Parameter(at+".alpha_n", 1),
		beta: b.BufferAt(at+".beta", b.DType), eps: b.BufferAt(at+".eps", b.DType),
	}
}

func (x *xielu) call(input *shadow.Tensor) *shadow.Tensor { return input.World().Call(x, input) }

// Forward is XIELUActivation._xielu_python.
func (x *xielu) Forward(fn *shadow.Frame, input *shadow.Tensor) *shadow.Tensor {
	alphaP := fn.Let(x.alphaP.Softplus())
	alphaN := fn.Let(x.beta.Add(x.alphaN.Softplus()))
	positive := input.Compare("gt")
	above := alphaP.Mul(input).Mul(input).Add(x.beta.Mul(input))
	below := input.Extremum("minimum", x.eps).Expm1().Sub(input).Mul(alphaN).Add(x.beta.Mul(input))
	return shadow.WhereGrad(positive, above, below)
}
