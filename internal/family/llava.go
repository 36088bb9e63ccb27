// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// LLaVA 1.5: transformers/models/llava/modeling_llava.py. Features from one of the last layers of a vision tower, after a
// projector, replace the embeddings of the image tokens in a text model.

type llava struct {
	*llama
	tower     visionTower
	projector *llavaProjector
	layers    []int // vision_feature_layer: indices of the tower's hidden states
	whole     bool  // the class token is a feature too
}

func newLLaVA(b *nn.Builder, c *Config, run Run) (Model, error) {
	t := c.within("text_config")
	m := &llava{}
	m.addVision(b, c, run)
	var err error
	if m.llama, err = newTextModel(b, t, run, "llama", c.Bool("tie_word_embeddings", false) || t.Bool("tie_word_embeddings", false)); err != nil {
		return nil, err
	}
	return m, nil
}

// addVision makes the tower and the projector.
func (m *llava) addVision(b *nn.Builder, c *Config, run Run) {
	m.tower = newVisionTower(b, c.llavaVision(), run, "clip_vision_model")
	m.layers, m.whole = c.featureLayers(), c.String("vision_feature_select_strategy", "default") != "default"
	width, out, bias := m.tower.sizes().width*len(m.layers), c.within("text_config").Positive("hidden_size", 4096), c.Bool("multimodal_projector_bias", true)
	const at = "model.multi_modal_projector"
	m.projector = &llavaProjector{
		Path: at, act: c.activation("projector_hidden_act", "gelu"),
		linear1: b.Linear(at+".linear_1", width, out, bias), linear2: b.Linear(at+".linear_2", out, out, bias),
	}
}

// llavaVision returns vision_config, by default that of CLIP's large tower.
func (c *Config) llavaVision() *Config {
	v := c.within("vision_config")
	if !c.Has("vision_config") {
		v.usual(map[string]any{"intermediate_size": 4096.0, "hidden_size": 1024.0, "patch_size": 14.0, "image_size": 336.0, "num_hidden_layers": 24.0, "num_attention_heads": 16.0})
	}
	return v
}

// featureLayers reads vision_feature_layer, a number or a list.
func (c *Config) featureLayers() []int {
	layers := c.Ints("vision_feature_layer")
	if f, ok := c.keys["vision_feature_layer"].(float64); ok {
		layers = []int{int(f)}
	}
	if layers == nil {
		layers = []int{-2}
	}
	n := c.llavaVision().Int("num_hidden_layers", 12) + 1
	for i, l := range layers {
		if l < 0 {
			layers[i] = n + l
		}
		if layers[i] < 0 || layers[i] >= n {
			c.fail("vision_feature_layer", fmt.Sprintf("at most %d, the number of the tower's layers", n-1))
			layers[i] = 0
		}
	}
	return layers
}

// Batch makes the tensors that LlavaProcessor returns.
func (m *llava) Batch() Batch { return m.imageBatch(m.tower.sizes(), false) }

// Loss is LlavaForConditionalGeneration.forward.
func (m *llava) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	hidden, _ := fn.Let2(m.forward(b)) // the outputs have image_hidden_states
	return fn.Return(m.head.loss(hidden, b))
}

// forward is LlavaModel.forward.
func (m *llava) forward(b Batch) (hidden, features *shadow.Tensor) {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	if b.Pixels != nil {
		list := m.imageFeatures(b.Pixels)
		of := m.w.Func(list...)
		features = fn.Let(shadow.Cat(0, list...).To(embeds.DType()))
		of.Return(nil)
		image := fn.Let(m.imageTokens(b.IDs))
		fn.Set(&embeds, embeds.MaskedScatterInto(image, features))
	}
	hidden = fn.Let(m.fromEmbeds(textInput{embeds: embeds, mask: b.Mask}))
	return fn.Return2(hidden, features)
}

// imageFeatures is get_image_features: the features of each image.
func (m *llava) imageFeatures(pixels *shadow.Tensor) []*shadow.Tensor {
	fn := m.w.Func(pixels)
	outputs := m.tower.forward(pixels, true).bind(fn)
	selected := fn.Let(m.selected(outputs))
	features := fn.Let(m.w.Call(m.projector, selected))
	list := features.Unbind(0)
	fn.Del(&features)
	return fn.Returns(list...)
}

// selected returns the tower's hidden states that become features.
func (m *llava) selected(outputs towerOutputs) *shadow.Tensor {
	pool := make([]*shadow.Tensor, len(m.layers))
	for i, l := range m.layers {
		pool[i] = outputs.states[l]
		if !m.whole {
			pool[i] = pool[i].Slice(1, 1, pool[i].Size(1))
		}
	}
	if len(pool) == 1 {
		return pool[0]
	}
	return shadow.Cat(-1, pool...)
}

// imageTokens is get_placeholder_mask: a mask of the image tokens. It checks that there are as many as features.
func (n net) imageTokens(ids *shadow.Tensor) *shadow.Tensor {
	fn := n.w.Func(ids)
	var mask *shadow.Tensor
	fn.Set(&mask, ids.Compare("eq"))
	count := fn.Let(mask.SumAll())
	fn.Set(&mask, mask.Unsqueeze(-1))
	n.checkCount(count)
	return fn.Return(mask)
}

// llavaProjector is LlavaMultiModalProjector.
type llavaProjector struct {
	shadow.Path
	act              activation
	linear1, linear2 *nn.Linear
}

func (p *llavaProjector) Forward(fn *shadow.Frame, features *shadow.Tensor) *shadow.Tensor {
	hidden := fn.Let(p.linear1.Call(features))
	fn.Set(&hidden, p.act(hidden))
	fn.Set(&hidden, p.linear2.Call(hidden))
	return hidden
}
