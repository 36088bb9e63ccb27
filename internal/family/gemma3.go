// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Gemma 3, text only: transformers/models/gemma3/modeling_gemma3.py. It is Gemma 2 with normalized queries and
// keys, one full layer after every five layers with a sliding window, separate rotary angles for the two kinds,
// and no softcapping of scores.

func newGemma3(b *nn.Builder, c *Config, run Run) (Model, error) {
	every := c.Positive("sliding_window_pattern", 6)
	return newGemma(b, c, run, gemmaShape{
		vocab: 262208, slides: func(i int) bool { return (i+1)%every != 0 },
		softcap: c.Has("final_logit_softcapping"),
		attention: func(a *llamaAttention) shadow.Module2 {
			return &gemma3Attention{
				llamaAttention: a,
				qNorm:          newGemma2Norm(b, run, string(a.Path)+".q_norm", a.headDim),
				kNorm:          newGemma2Norm(b, run, string(a.Path)+".k_norm", a.headDim),
			}
		},
		rotary: func(dim int, windows []int) layerRotary { return rotaryByType(b, c, dim, windows) },
	}), nil
}

type gemma3Attention struct {
	*llamaAttention
	qNorm, kNorm *gemma2Norm
}

func (a *gemma3Attention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, H, S, D)
	key := fn.Let(a.k.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))   // (B, Hkv, S, D)
	value := fn.Let(a.v.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, Hkv, S, D)

	fn.Set(&query, a.qNorm.Call(query))
	fn.Set(&key, a.kNorm.Call(key))
	return a.attend(fn, &query, &key, value)
}
