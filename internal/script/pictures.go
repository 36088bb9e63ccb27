// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// registerPictures registers what site-packages/torchvision_transforms.py needs.
func registerPictures() {
	natives["snug.image_size"] = transformedSize
	natives["snug.pixels"] = pixels
	natives["snug.transformed"] = transformed
}

// transformedSize implements snug.image_size(height, width, crops): the size of the images that a transform makes. The first
// crop determines it; without one, a resize to a height and a width does, or else the data.
func transformedSize(in *interpreter, a arguments) value {
	h, okH := a.or(0, "", nil).(int)
	w, okW := a.or(1, "", nil).(int)
	crops, _ := a.or(2, "", nil).(bool)
	if !okH || !okW {
		return nil
	}
	if crops && in.survey == nil {
		if in.crops = append(in.crops, [2]int{h, w}); in.crops[0] != [2]int{h, w} {
			in.note("images have a different size here than in the first transform of this script; the figures assume the first size for all")
		}
	}
	if x := in.survey; x != nil && (x.Image.Where == "" || crops && !x.crops) {
		x.Image, x.Width, x.crops = Sighting{N: h, Where: in.place()}, w, crops
	}
	return nil
}

// transformed implements snug.transformed(image, channels): what a transform made of an image. If the transform is unknown, it
// is an image of the usual size.
func transformed(in *interpreter, a arguments) value {
	switch image := a.or(0, "", nil).(type) {
	case *hostTensor:
		if len(image.size) > 0 {
			return hold(image)
		}
	case *list, *dict:
		return hold(image)
	}
	return pixels(in, arguments{pos: []value{a.or(1, "", nil)}})
}

// pixels implements snug.pixels(channels, height, width, dtype): an image as a tensor. If the model of the setup takes images,
// they have the setup's size.
func pixels(in *interpreter, a arguments) value {
	channels, ok := a.or(0, "", nil).(int)
	h, okH := a.or(1, "", nil).(int)
	w, okW := a.or(2, "", nil).(int)
	dtype, okD := a.or(3, "", nil).(dtypeValue)
	if !okD {
		dtype = dtypeValue(shadow.Float32)
	}
	if in.survey == nil && in.images() {
		if size := in.Fields[0].Size; len(size) == 4 {
			return &hostTensor{size: size[1:], dtype: shadow.DType(dtype)}
		}
	}
	if !ok || !okH || !okW {
		return unknown{}
	}
	if x := in.survey; x != nil && x.Image.Where == "" {
		x.Image, x.Width = Sighting{N: h, Where: in.place()}, w
	}
	return &hostTensor{size: []int{channels, h, w}, dtype: shadow.DType(dtype)}
}
