// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// PEFT's prompt learning trains virtual tokens instead of adapters (PEFT 0.21, tuners/prompt_tuning, p_tuning and
// prefix_tuning). The parameters are float32, whatever the type of the model.

// PromptEncoder makes the embeddings of virtual tokens, or with prefix tuning the keys and values of all layers: an
// embedding, and after it an MLP if there is one.
type PromptEncoder struct {
	embedding *Embedding
	layers    []*Linear
	act       func(*shadow.Tensor) *shadow.Tensor // between the layers
}

// AddPrompt freezes the model and adds an encoder of virtual tokens. widths are those of the embedding and of each layer of the
// MLP, with act between them. Layers in save are trained in full.
func (b *Builder) AddPrompt(tokens int, widths []int, act func(*shadow.Tensor) *shadow.Tensor, save []string) *PromptEncoder {
	for _, p := range b.all {
		p.SetTrained(false)
	}
	layers, was := b.layers, b.DType
	b.DType = shadow.Float32
	e := &PromptEncoder{act: act, embedding: b.Embedding("prompt_encoder.embedding", tokens, widths[0])}
	for i, width := range widths[1:] {
		e.layers = append(e.layers, b.Linear("prompt_encoder.mlp."+string(rune('0'+2*i)), widths[i], width, true))
	}
	b.DType = was
	b.save(layers, Lora{Save: save})
	return e
}

// Call is prompt_encoder(tokens).
func (e *PromptEncoder) Call(tokens *shadow.Tensor) *shadow.Tensor {
	fn := tokens.World().Func(tokens)
	embeds := fn.Let(e.embedding.Call(tokens))
	if len(e.layers) == 0 {
		return fn.Return(embeds)
	}
	return fn.Return(fn.Let(e.mlp(embeds)))
}

// mlp is the nn.Sequential.
func (e *PromptEncoder) mlp(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	for i, l := range e.layers {
		if i > 0 {
			fn.Set(&x, e.act(x))
		}
		fn.Set(&x, l.Call(x))
	}
	return fn.Return(x)
}

// InputEmbedding returns the embedding that get_input_embeddings returns.
func (b *Builder) InputEmbedding() *Embedding { return b.inputs }

// Tokens returns the number of virtual tokens.
func (e *PromptEncoder) Tokens() int { return e.embedding.Weight.Size(0) }
