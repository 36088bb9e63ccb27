// SPDX-License-Identifier: Apache-2.0

package family

import (
	"maps"
	"math"
	"slices"
)

// Vision describes how a model type processes images.
type Vision struct {
	// Parts maps the parts that trainers freeze to the paths of their modules.
	Parts map[string][]string

	// Inputs are the names of the processor's results in Batch.Kinds, Grid and Tiles.
	Inputs VisionInputs
	// Copies means that releases before 5.0 computed the loss from a copy of the logits in float32.
	Copies bool
	// Tiles means that the processor cuts images into tiles, whose number depends on their sizes.
	Tiles bool
	// Joined means that the tower sees the patches of all images of a batch as one sequence.
	Joined bool

	fit  func(c *Config, height, width int) Image
	tile func(c *Config) int // the side of a tile, if an option of the processor decides whether images are cut
}

// VisionInputs are names of a model's inputs besides the tokens and the images; "" if it has none.
type VisionInputs struct {
	Kinds string // of Batch.Kinds
	Grid  string // of Batch.Grid
	Tiles string // of Batch.Tiles
}

// VisionInputNames lists the names that the fields of VisionInputs have in any model, with a row each for Kinds, Grid and
// Tiles.
func VisionInputNames() [3][]string {
	return [3][]string{{"mm_token_type_ids", "token_type_ids", "cross_attention_mask"}, {"image_grid_thw", "image_sizes", "aspect_ratio_ids"}, {"aspect_ratio_mask"}}
}

// called sets the names of the inputs.
func (v *Vision) called(kinds, grid, tiles string) *Vision {
	v.Inputs = VisionInputs{kinds, grid, tiles}
	return v
}

// The parts of a model with a vision tower.
const (
	VisionTower = "vision"    // the tower that encodes the images
	Projector   = "projector" // the module that turns its hidden states into features: a projector or a merger
	Language    = "language"  // the text model, including its embeddings and its head
)

// VisionParts lists the parts that can be frozen.
func VisionParts() []string { return []string{VisionTower, Projector, Language} }

// Image is an image after the model's processor has resized it for the tower.
type Image struct {
	Height, Width int  // in pixels
	Tokens        int  // tokens that represent it in the text
	Extra         int  // tokens of text that the processor puts around it
	Fixed         bool // every image has this size
}

// Fit returns an image of a given size as a model's processor resizes it. A size of 0 by 0 is for models that resize
// every image to the same size; for others, the result has no tokens.
func (v *Vision) Fit(config map[string]any, height, width int) Image {
	return v.fit(NewConfig(config), height, width)
}

// TileSide returns the side of the tiles into which the processor cuts images if an option says so; 0 if there is no such
// option.
func (v *Vision) TileSide(config map[string]any) int {
	if v.tile == nil {
		return 0
	}
	return v.tile(NewConfig(config))
}

// Unlike returns how a release before 5.0 differed from the code that is simulated; "" if it needed the same memory, as far
// as recordings of 4.57 show.
func (v *Vision) Unlike(release int) string {
	switch {
	case v.Joined || release >= 500:
		return ""
	case v.Copies:
		return "before transformers 5.0, the model computes its loss from a copy of the logits in float32, which takes more memory than shown"
	case release < 457:
		return "the model's code in transformers 5.17 is simulated; releases before 4.57 were not compared with it"
	}
	return ""
}

// copying marks a model whose earlier releases copied the logits.
func (v *Vision) copying() *Vision {
	v.Copies = true
	return v
}

// Modules returns the paths of the parts' modules.
func (v *Vision) Modules(parts []string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v.Parts)) {
		if slices.Contains(parts, name) {
			out = append(out, v.Parts[name]...)
		}
	}
	return out
}

// qwenVision describes Qwen2-VL and its successors: images of any size, in multiples of a token's side.
func qwenVision(patch int, merger ...string) *Vision {
	return &Vision{
		Parts: map[string][]string{
			VisionTower: {"model.visual.patch_embed", "model.visual.pos_embed", "model.visual.blocks"},
			Projector:   append([]string{"model.visual.merger"}, merger...),
			Language:    {"model.language_model", "lm_head"},
		},
		Joined: true,
		Inputs: VisionInputs{Kinds: "mm_token_type_ids", Grid: "image_grid_thw"},
		fit: func(c *Config, height, width int) Image {
			v := c.within("vision_config")
			merge := v.Positive("spatial_merge_size", 2)
			side := v.Positive("patch_size", patch) * merge
			i := Image{Height: rounded(height, side), Width: rounded(width, side), Extra: tokensBetween}
			i.Tokens = (i.Height / side) * (i.Width / side)
			return i
		},
	}
}

// tiledVision describes a model whose processor cuts images into tiles.
func tiledVision(fit func(c *Config, height, width int) Image, tile func(c *Config) int) *Vision {
	v := towerVision(fit)
	v.Tiles, v.tile = true, tile
	return v
}

// towerVision describes a model with a tower for images of one size and a projector.
func towerVision(fit func(c *Config, height, width int) Image) *Vision {
	return &Vision{
		Parts: map[string][]string{
			VisionTower: {"model.vision_tower"},
			Projector:   {"model.multi_modal_projector"},
			Language:    {"model.language_model", "lm_head"},
		},
		fit: fit,
	}
}

// llavaImage is an image as LlavaProcessor resizes it.
func llavaImage(c *Config, _, _ int) Image {
	s, class := c.llavaTower()
	tokens := s.side*s.side + class
	if c.String("vision_feature_select_strategy", "default") == "default" {
		tokens--
	}
	return Image{Height: s.image, Width: s.image, Tokens: tokens, Fixed: true}
}

// llavaTower returns the sizes of the tower's images, and the number of tokens besides patches: CLIP has one for the
// class.
func (c *Config) llavaTower() (s towerSize, class int) {
	v := c.llavaVision()
	if v.String("model_type", "") == "siglip_vision_model" {
		return readTowerSize(v, 0, 16), 0
	}
	return readTowerSize(v, 0, 32), 1
}

// llavaNextImage is an image as it is given to LlavaNextProcessor, which cuts it into tiles.
func llavaNextImage(c *Config, height, width int) Image {
	i := Image{Height: height, Width: width}
	if height > 0 && width > 0 {
		s, _ := c.llavaTower()
		i.Tokens = c.cut(s, height, width).tokens
	}
	return i
}

// gemma3Image is an image as Gemma3Processor resizes it, without pan and scan.
func gemma3Image(c *Config, _, _ int) Image {
	s, n := readTowerSize(c.within("vision_config"), 0, 16), c.imageSide()
	return Image{Height: s.image, Width: s.image, Tokens: n * n, Extra: 4, Fixed: true} // start and end of the image, and line breaks around them
}

// paliGemmaImage is an image as PaliGemmaProcessor resizes it.
func paliGemmaImage(c *Config, _, _ int) Image {
	s := readTowerSize(c.paliGemmaVision(), 0, 16)
	return Image{Height: s.image, Width: s.image, Tokens: s.side * s.side, Fixed: true}
}

// internTile returns the side of a tile of InternVLProcessor's.
func internTile(c *Config) int { return readInternSize(c.within("vision_config"), 0).image }

// internImage is an image as it is given to InternVLProcessor, which cuts it into tiles.
func internImage(c *Config, height, width int) Image {
	i := Image{Height: height, Width: width}
	if height > 0 && width > 0 {
		s, ratio := readInternSize(c.within("vision_config"), 0), c.downsampling()
		i.Tokens = internTiles(s.image, height, width) * (s.side / ratio) * (s.side / ratio)
		i.Extra = 2 // the start and the end of the image
	}
	return i
}

// mllamaVisionFacts describes Llama 3.2 Vision, whose images have a place for all tiles whatever their size. One token of
// the text stands for an image.
func mllamaVisionFacts() *Vision {
	v := towerVision(func(c *Config, height, width int) Image {
		if height > 0 && width > 0 {
			return Image{Height: height, Width: width, Tokens: 1}
		}
		side := c.within("vision_config").Positive("image_size", 448)
		return Image{Height: side, Width: side, Tokens: 1, Fixed: true}
	})
	v.Parts[VisionTower] = []string{"model.vision_model"}
	return v.called("cross_attention_mask", "aspect_ratio_ids", "aspect_ratio_mask")
}

// rounded returns the nearest multiple of step that is not 0, as smart_resize of Qwen2VLImageProcessor does; halves are
// rounded to even.
func rounded(n, step int) int {
	if n == 0 {
		return 0
	}
	return max(int(math.RoundToEven(float64(n)/float64(step))), 1) * step
}
