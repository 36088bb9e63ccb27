// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"fmt"

	"snug/internal/family"
)

// Models with a vision tower take a number of images per sample; models that classify images take one.

// completeClassified checks the size of the images of a model that classifies them. torchvision's models take any size;
// a model with learned positions takes the size in its config.
func (s *Setup) completeClassified() error {
	switch {
	case s.Images > 1:
		return Wrong("{images} is %d, but %s takes one image per sample; remove it", s.Images, s.Model.Title())
	case len(s.Freeze) > 0:
		return Wrong("{freeze} names parts of a model with a vision tower, but %s has none; remove it", s.Model.Title())
	case s.ImageWidth > 0 && s.ImageSize == 0:
		return Wrong("{image_width} is %d, but the height is missing; give {image_size}", s.ImageWidth)
	case s.Model.Program != nil && s.ImageSize > 0:
		return Wrong("{image_size} is %d, but a profile covers only the recorded sizes; remove it", s.ImageSize)
	}
	if side := s.Model.side(); s.Model.Config != nil && !s.Model.facts().Positions.AnySize && s.ImageSize > 0 && (s.ImageSize != side || cmp.Or(s.ImageWidth, side) != side) {
		return Wrong("{image_size}: %s has learned positions for images of %d by %[2]d pixels; remove it, or change image_size in its config.json", s.Model.Title(), side)
	}
	return nil
}

// side returns the height and width of the images that a model classifies, unless the setup gives them.
func (m Model) side() int {
	if side := m.facts().Positions.Side; side > 0 {
		return side
	}
	return family.NewConfig(m.Config).Positive("image_size", family.ImageNetSide)
}

// classified returns the image that the model classifies; the zero value if it takes something else.
func (s *Setup) classified() family.Images {
	if s.Model.Program != nil || !s.Model.facts().Positions.Images {
		return family.Images{}
	}
	height := cmp.Or(s.ImageSize, s.Model.side())
	return family.Images{Count: 1, Height: height, Width: cmp.Or(s.ImageWidth, height)}
}

// completeImages checks the images against the model, and sets the size that its tower gets.
func (s *Setup) completeImages(v *family.Vision) error {
	switch {
	case v == nil && s.Images > 0:
		return Wrong("{images} is %d, but %s has no vision tower; remove it", s.Images, s.Model.Title())
	case v == nil && len(s.Freeze) > 0:
		return Wrong("{freeze} names parts of a model with a vision tower, but %s has none; remove it", s.Model.Title())
	case s.Images == 0 && cmp.Or(s.ImageSize, s.ImageWidth) > 0:
		field := map[bool]string{true: "image_size", false: "image_width"}[s.ImageSize > 0]
		if v == nil {
			return Wrong("{"+field+"} is %d, but %s takes no images; remove it", cmp.Or(s.ImageSize, s.ImageWidth), s.Model.Title())
		}
		return Wrong("{"+field+"} is %d, but no sample has images; give their number with {images}, or remove it", cmp.Or(s.ImageSize, s.ImageWidth))
	case s.Images == 0:
		return nil
	case s.Lengths != nil:
		return Wrong("{lengths} with {images} is not simulated; give {seq}")
	}
	seen := v.Fit(s.Model.Config, s.ImageSize, cmp.Or(s.ImageWidth, s.ImageSize))
	if seen.Tokens == 0 && v.Tiles {
		return Wrong("{image_size} is missing, and the processor of %s cuts images into tiles, whose number depends on the size of the images; give their height in pixels, and {image_width} unless they are square", s.Model.Title())
	}
	if seen.Tokens == 0 {
		return Wrong("{image_size} is missing, and %s has no fixed image size; give the height in pixels after the processor has resized the images, and {image_width} unless they are square", s.Model.Title())
	}
	if seen.Fixed && s.ImageSize > 0 && (s.ImageSize != seen.Height || cmp.Or(s.ImageWidth, s.ImageSize) != seen.Width) {
		return Wrong("{image_size}: the processor of %s resizes every image to %d by %d pixels; remove it", s.Model.Title(), seen.Height, seen.Width)
	}
	if need := s.Images * (seen.Tokens + seen.Extra); need > s.Seq {
		return Wrong("{seq} is %d, but %s of %d by %d pixels %s %d tokens; use a larger {seq}, or smaller or fewer images", s.Seq, counted(s.Images, "image"), seen.Height, seen.Width, map[bool]string{true: "takes", false: "take"}[s.Images == 1], need)
	}
	return nil
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ImagesSeen returns the images of a sample at the size that the model, or its tower, gets.
func (s *Setup) ImagesSeen() family.Images {
	v := s.Model.facts().Vision
	if v == nil {
		return s.classified()
	}
	if s.Images == 0 {
		return family.Images{}
	}
	seen := v.Fit(s.Model.Config, s.ImageSize, cmp.Or(s.ImageWidth, s.ImageSize))
	return family.Images{Count: s.Images, Height: seen.Height, Width: seen.Width}
}

// AssumesImages reports whether the size of the images that the model classifies is assumed.
func (s *Setup) AssumesImages() bool {
	return s.ImageSize == 0 && (s.Model.Config == nil || s.Model.facts().Positions.Side > 0) && s.classified().Count > 0
}

// FrozenModules returns the paths of the modules that are frozen.
func (s *Setup) FrozenModules() []string {
	v := s.Model.facts().Vision
	if v == nil || len(s.Freeze) == 0 {
		return nil
	}
	return v.Modules(s.Freeze)
}

// VisionParts lists the parts of a model with a vision tower.
func VisionParts() []string { return family.VisionParts() }

// HasVision reports whether the model has a vision tower.
func (m Model) HasVision() bool { return m.facts().Vision != nil }

// OlderVision returns how the run's release of transformers differs from the one whose code is simulated, for a model with
// a vision tower; "" if it does not.
func (s *Setup) OlderVision() string {
	if v := s.Model.facts().Vision; v != nil {
		return v.Unlike(s.Versions.TransformersRelease())
	}
	return ""
}

// VisionInputs returns the names of the inputs for images besides the images themselves.
func (m Model) VisionInputs() family.VisionInputs {
	if v := m.facts().Vision; v != nil {
		return v.Inputs
	}
	return family.VisionInputs{}
}

// JoinsImages reports whether the vision tower sees all images of a batch as one sequence.
func (m Model) JoinsImages() bool {
	v := m.facts().Vision
	return v != nil && v.Joined
}

// imagesPhrase describes the images.
func (s *Setup) imagesPhrase() []string {
	i := s.ImagesSeen()
	if i.Count == 0 {
		return nil
	}
	if s.Model.facts().Vision == nil {
		return []string{fmt.Sprintf("images of %dx%d", i.Width, i.Height)}
	}
	return []string{fmt.Sprintf("%s of %dx%d per sample", counted(i.Count, "image"), i.Width, i.Height)}
}
