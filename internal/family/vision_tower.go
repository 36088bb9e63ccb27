// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// visionTower is a model that sees whole images of one size.
type visionTower interface {
	// forward encodes images, (B, channels, height, width). states means output_hidden_states.
	forward(pixels *shadow.Tensor, states bool) towerOutputs
	// sizes returns the sizes of images and of hidden states.
	sizes() towerSize
}

func (m *clipVision) sizes() towerSize   { return m.size }
func (m *siglipVision) sizes() towerSize { return m.size }

// towerSize has the sizes of a tower's images and hidden states.
type towerSize struct {
	image, patch, channels int
	side                   int  // patches along each side of an image
	width                  int  // of the hidden states
	class                  bool // the hidden states have a class token before the patches
	perImage               int  // tiles that an image is cut into; 0 for models that do not cut them
}

func readTowerSize(c *Config, width, patch int) towerSize {
	s := towerSize{image: c.Positive("image_size", 224), patch: c.Positive("patch_size", patch), channels: c.Positive("num_channels", 3), width: width}
	if s.patch > s.image {
		c.fail("patch_size", "at most the image's side")
		s.patch = s.image
	}
	s.side = s.image / s.patch
	return s
}

// imageBatch makes the tensors that a processor returns for images of one size. kinds are the token_type_ids.
func (n net) imageBatch(s towerSize, kinds bool) Batch {
	if n.run.Images.Count == 0 {
		return n.textBatch()
	}
	b := Batch{IDs: n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)}
	if n.run.Mask {
		b.Mask = n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)
	}
	if kinds {
		b.Kinds = n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)
	}
	b.Pixels = n.w.Input(shadow.Float32, n.run.Batch*n.run.Images.Count*max(s.perImage, 1), s.channels, s.image, s.image)
	b.Labels = n.w.Input(shadow.Int64, n.run.Batch, n.run.Seq)
	return b
}

// towerOutputs is the BaseModelOutputWithPooling of a tower.
type towerOutputs struct {
	last, pooled *shadow.Tensor   // pooled may be nil
	states       []*shadow.Tensor // hidden_states: the first layer's input and each layer's output, if they were requested
}

// all returns the tensors of the outputs.
func (o towerOutputs) all() []*shadow.Tensor {
	return append([]*shadow.Tensor{o.last, o.pooled}, o.states...)
}

// leave returns the outputs from the tower's forward.
func (o towerOutputs) leave(fn *shadow.Frame) towerOutputs {
	fn.Returns(o.all()...)
	return o
}

// bind binds the outputs to a variable of the caller.
func (o towerOutputs) bind(fn *shadow.Frame) towerOutputs {
	for _, x := range o.all() {
		fn.Let(x)
	}
	return o
}

// newVisionTower is AutoModel.from_config(config.vision_config).
func newVisionTower(b *nn.Builder, c *Config, run Run, usual string) visionTower {
	const at = "model.vision_tower"
	switch c.String("model_type", usual) {
	case "clip_vision_model":
		return newCLIPVision(b, c, run, at)
	case "siglip_vision_model":
		return newSigLIPVision(b, c, run, at)
	}
	c.fail("model_type", "clip_vision_model or siglip_vision_model; other vision towers are not simulated")
	return newCLIPVision(b, c, run, at)
}

// newTextModel is AutoModel.from_config(config.text_config) with the head: the decoder of a model for images and text.
func newTextModel(b *nn.Builder, c *Config, run Run, usual string, tied bool) (*llama, error) {
	c.with("tie_word_embeddings", tied)
	run.path = "model.language_model"
	makers := map[string]maker{
		"llama": newLlama, "mistral": newMistral, "qwen2": newQwen2, "qwen3": newQwen3,
		"gemma": newGemma1, "gemma2": newGemma2, "gemma3_text": newGemma3,
	}
	of := makers[c.String("model_type", usual)]
	if of == nil {
		c.fail("model_type", "one of gemma, gemma2, gemma3_text, llama, mistral, qwen2, qwen3; other text models are not simulated together with images")
		of = newLlama
	}
	m, err := of(b, c, run)
	if err != nil {
		return nil, err
	}
	text := m.(*llama)
	b.Inputs(text.embed)
	return text, nil
}
