// SPDX-License-Identifier: Apache-2.0

package family

import (
	"testing"

	"snug/internal/kernel"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// TestTiles compares the number of tiles with transformers 5.17's get_optimal_tiled_canvas, plus one for the whole image.
func TestTiles(t *testing.T) {
	for _, x := range []struct{ height, width, want int }{
		{448, 448, 1}, {449, 449, 1}, {640, 640, 5}, {768, 768, 5}, {1024, 1024, 10}, {480, 640, 13}, {1080, 1920, 9},
		{1920, 1080, 9}, {336, 1000, 4}, {2000, 300, 8}, {100, 100, 1}, {700, 900, 13},
	} {
		if got := internTiles(448, x.height, x.width); got != x.want {
			t.Errorf("%d by %d pixels: %d tiles, want %d", x.height, x.width, got, x.want)
		}
	}
}

// TestImageTokens compares the tokens of an image with those that transformers 5.17's processors put into the text.
func TestImageTokens(t *testing.T) {
	clip := map[string]any{"model_type": "clip_vision_model", "image_size": 336.0, "patch_size": 14.0}
	siglip := map[string]any{"model_type": "siglip_vision_model", "image_size": 384.0, "patch_size": 14.0}
	for _, x := range []struct {
		config        map[string]any
		height, width int
		want          Image
	}{
		{map[string]any{"model_type": "llava"}, 0, 0, Image{336, 336, 576, 0, true}},
		{map[string]any{"model_type": "llava", "vision_config": clip, "vision_feature_select_strategy": "full"}, 0, 0, Image{336, 336, 577, 0, true}},
		{map[string]any{"model_type": "llava", "vision_config": siglip, "vision_feature_select_strategy": "full"}, 0, 0, Image{384, 384, 729, 0, true}},
		{map[string]any{"model_type": "llava_next", "vision_config": clip}, 336, 336, Image{336, 336, 1176, 0, false}},
		{map[string]any{"model_type": "llava_next", "vision_config": clip}, 480, 640, Image{480, 640, 2340, 0, false}},
		{map[string]any{"model_type": "llava_next", "vision_config": clip}, 1000, 300, Image{1000, 300, 2232, 0, false}},
		{map[string]any{"model_type": "llava_next", "vision_config": clip}, 333, 2000, Image{333, 2000, 1452, 0, false}},
		{map[string]any{"model_type": "gemma3", "vision_config": map[string]any{"image_size": 896.0, "patch_size": 14.0}}, 0, 0, Image{896, 896, 256, 4, true}},
		{map[string]any{"model_type": "paligemma"}, 0, 0, Image{224, 224, 256, 0, true}},
		{map[string]any{"model_type": "internvl"}, 448, 448, Image{448, 448, 256, 2, false}},
		{map[string]any{"model_type": "internvl"}, 480, 640, Image{480, 640, 13 * 256, 2, false}},
	} {
		f, _ := FactsOf(x.config["model_type"].(string))
		if got := f.Vision.Fit(x.config, x.height, x.width); got != x.want {
			t.Errorf("%v, %d by %d pixels: %+v, want %+v", x.config, x.height, x.width, got, x.want)
		}
	}
}

// TestVisionInputs checks that each input for images has the name that the processor gives it, so that a training loop
// passes it on.
func TestVisionInputs(t *testing.T) {
	for _, modelType := range Types(func(f Facts) bool { return f.Vision != nil }) {
		f, _ := FactsOf(modelType)
		b := &nn.Builder{W: shadow.NewWorld(kernel.Rules{Torch: 211}), DType: shadow.Float32}
		m, err := New(b, imageConfig(modelType), Run{Shape: &Shape{Batch: 1, Seq: 512}, Attention: "sdpa", Images: Images{1, 448, 448}})
		if err != nil {
			t.Errorf("%s: %v", modelType, err)
			continue
		}
		batch, in := m.Batch(), f.Vision.Inputs
		for _, x := range []struct {
			name string
			of   *shadow.Tensor
		}{{in.Kinds, batch.Kinds}, {in.Grid, batch.Grid}, {in.Tiles, batch.Tiles}} {
			if (x.name != "") != (x.of != nil) {
				t.Errorf("%s: the input %q is %v", modelType, x.name, x.of)
			}
		}
	}
}

// imageConfig returns a small config whose features fit the text model.
func imageConfig(modelType string) *Config {
	c := small(modelType)
	vision := map[string]any{"vision_use_head": false}
	switch modelType {
	case "qwen2_vl":
		vision["hidden_size"], vision["embed_dim"] = 64.0, 64.0
	case "qwen2_5_vl", "qwen3_vl":
		vision["out_hidden_size"] = 64.0
	}
	return c.with("vision_config", vision)
}

// TestTiedInternVL checks that the head of InternVL is tied by default only since transformers 5.0.
func TestTiedInternVL(t *testing.T) {
	for release, want := range map[int]bool{0: true, 517: true, 457: false} {
		b := &nn.Builder{W: shadow.NewWorld(kernel.Rules{Torch: 211}), DType: shadow.Float32}
		if _, err := New(b, small("internvl"), Run{Shape: &Shape{Batch: 1, Seq: 32}, Attention: "sdpa", Transformers: release}); err != nil {
			t.Fatal(err)
		}
		if got := len(b.Ties()) > 0; got != want {
			t.Errorf("release %d: tied %v, want %v", release, got, want)
		}
	}
}

// TestOlderVision checks which releases are said to differ.
func TestOlderVision(t *testing.T) {
	for _, x := range []struct {
		model   string
		release int
		differs bool
	}{{"gemma3", 517, false}, {"gemma3", 457, true}, {"llava", 457, false}, {"llava", 448, true}, {"qwen2_vl", 448, false}} {
		f, _ := FactsOf(x.model)
		if got := f.Vision.Unlike(x.release); (got != "") != x.differs {
			t.Errorf("%s, release %d: %q", x.model, x.release, got)
		}
	}
}
