// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"fmt"

	"snug/internal/family"
)

// Models with a vision tower take a number of images per sample.

// completeImages checks the images against the model, and sets the size that its tower gets.
func (s *Setup) completeImages(v *family.Vision) error {
	switch {
	case v == nil && s.Images > 0:
		return Wrong("{images} is %d, but %s has no vision tower; remove it", s.Images, s.Model.Title())
	case v == nil && len(s.Freeze) > 0:
		return Wrong("{freeze} names parts of a model with a vision tower, but %s has none; remove it", s.Model.Title())
	case s.Images == 0 && cmp.Or(s.ImageSize, s.ImageWidth) > 0:
		return Wrong("{image_size} is %d, but no sample has images; give their number with {images}, or remove it", cmp.Or(s.ImageSize, s.ImageWidth))
	case s.Images == 0:
		return nil
	case s.Lengths != nil:
		return Wrong("{lengths} with {images} is not simulated; give {seq}")
	}
	seen := v.Fit(s.Model.Config, s.ImageSize, cmp.Or(s.ImageWidth, s.ImageSize))
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

// ImagesSeen returns the images of a sample at the size that the model's tower gets.
func (s *Setup) ImagesSeen() family.Images {
	v := s.Model.facts().Vision
	if v == nil || s.Images == 0 {
		return family.Images{}
	}
	seen := v.Fit(s.Model.Config, s.ImageSize, cmp.Or(s.ImageWidth, s.ImageSize))
	return family.Images{Count: s.Images, Height: seen.Height, Width: seen.Width}
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

// imagesPhrase describes the images.
func (s *Setup) imagesPhrase() []string {
	i := s.ImagesSeen()
	if i.Count == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %dx%d per sample", counted(i.Count, "image"), i.Width, i.Height)}
}
