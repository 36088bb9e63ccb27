// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"

	"snug/internal/setup"
)

// For models with a vision tower, this file finds out which parts are frozen and how large the images are. How many
// images a sample has depends on the data; some trainers limit the image size.

// settleImages fills in the frozen parts, and an image of the largest size that the trainer allows.
func (r *Run) settleImages(out map[string]any) {
	name := r.visionModelName(out)
	if name == "" {
		return
	}
	var frozen []any
	for _, part := range setup.VisionParts() {
		if r.ValueOrDefault("freeze."+part) == true {
			frozen = append(frozen, part)
		}
	}
	if len(frozen) > 0 && !r.setInSnugFile("freeze") {
		out["freeze"] = frozen
	}
	if r.setInSnugFile("images") || r.ValueOrDefault("image.pixels") == nil {
		return
	}
	if side := r.largestImage(name); side > 0 {
		out["images"], out["image_size"] = 1.0, float64(side)
	} else if setup.FixedImages(name) {
		out["images"] = 1.0
	}
}

// visionModelName returns the name of the run's model if it has a vision tower.
func (r *Run) visionModelName(fields map[string]any) string {
	model, _ := fields["model"].(map[string]any)
	name, _ := model["name"].(string)
	if !setup.SeesImages(name) {
		return ""
	}
	return name
}

// largestImage returns the side of the largest square image that the trainer passes to the model; 0 if it has no limit.
func (r *Run) largestImage(name string) int {
	if side := setup.TileSide(name); side > 0 && r.ValueOrDefault("image.tiles") == false {
		return side
	}
	pixels, _ := r.ValueOrDefault("image.pixels").(int)
	return setup.LargestSide(name, pixels)
}

// answersAboutImages lists a comparison of answers by a model that takes images, whose loop is not simulated.
func (r *Run) answersAboutImages() []Missing {
	name, _ := r.Value("model").(string)
	if name == "" || !setup.SeesImages(r.ModelName(name)) {
		return nil
	}
	b := r.BindingsOf("model")[0]
	return []Missing{*refusedFor(b.Where(), name, "takes images, and the run compares answers")}
}

// otherDenoising lists a diffusion model that is trained by a program other than those that are simulated.
func (r *Run) otherDenoising() []Missing {
	name, _ := r.Value("model").(string)
	if name == "" || r.Trainer().Denoises || r.Own != nil || !setup.Trains(r.ModelName(name), "diffusion") {
		return nil
	}
	b := r.BindingsOf("model")[0]
	return []Missing{*refusedFor(b.Where(), name, "is a diffusion model, and the program is not diffusers' train_text_to_image.py or train_text_to_image_lora.py")}
}

// openImages lists the images as missing if the model takes images and no file limits their size.
func (r *Run) openImages(fields map[string]any) []Missing {
	name := r.visionModelName(fields)
	switch {
	case name == "" || fields["images"] != nil:
		return nil
	case setup.FixedImages(name):
		return []Missing{{"images", "the model takes images, whose number depends on the data; give --images N, or --images 0 for training on text alone"}}
	}
	return []Missing{{"images", "the model takes images, whose number and size depend on the data; give --images N and --image-size PIXELS, or --images 0 for training on text alone"}}
}

// assumedImages returns the warning that a number of images is assumed.
func (r *Run) assumedImages(run map[string]any) []string {
	fields := r.Fields()
	if fields["images"] == nil || fields["images"] != run["images"] || fields["image_size"] != run["image_size"] {
		return nil
	}
	if fields["image_size"] == nil {
		return []string{"the number of images per sample depends on the data; one image is assumed; if there are more, give --images"}
	}
	return []string{fmt.Sprintf("the number of images per sample depends on the data; one image of %v by %[1]v pixels is assumed, the largest that %s passes to the model; to change this, give --images and --image-size", fields["image_size"], r.Trainer().Title)}
}
