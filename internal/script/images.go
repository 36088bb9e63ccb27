// SPDX-License-Identifier: Apache-2.0

package script

import (
	"snug/internal/shadow"
)

// torch.nn.functional's functions for images, for models that a script builds itself.

func registerImages() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"conv1d": conv1d, "pad": pads, "conv2d": conv2d, "conv_transpose2d": convTranspose2d, "batch_norm": batchNorm, "group_norm": groupNorm, "max_pool2d": maxPool2d, "avg_pool2d": avgPool2d,
		"adaptive_avg_pool2d": adaptiveAvgPool2d, "adaptive_max_pool2d": adaptiveMaxPool2d, "interpolate": interpolate, "grid_sample": gridSample,
	} {
		natives["torch.nn.functional."+name] = f
	}
}

// pair returns a height and a width: two numbers, or one for both.
func pair(v value) (height, width int, ok bool) {
	switch v := v.(type) {
	case int:
		return v, v, true
	case sizeValue:
		if len(v) == 2 {
			return v[0], v[1], true
		}
	case *list:
		if len(v.items) == 2 {
			h, okH := v.items[0].(int)
			w, okW := v.items[1].(int)
			return h, w, okH && okW
		}
	}
	return 0, 0, false
}

// side returns a size that is the same in both directions.
func side(v value) (int, bool) {
	h, w, ok := pair(v)
	return h, ok && h == w
}

// image returns an argument if it is a batch of images on the card.
func image(a arguments) (*shadow.Tensor, bool) {
	x, ok := card(a, 0, "input")
	return x, ok && x.Dim() == 4
}

// conv2d implements F.conv2d(input, weight, bias, stride, padding, dilation, groups).
func conv2d(in *interpreter, a arguments) value {
	x, ok := image(a)
	weight, okW := card(a, 1, "weight")
	if !ok || !okW {
		return unknown{}
	}
	strideH, strideW, okS := pair(a.or(3, "stride", 1))
	dilation, okD := side(a.or(5, "dilation", 1))
	padH, padW, okP := pair(a.or(4, "padding", 0))
	if word, _ := a.or(4, "padding", 0).(string); word == "valid" || word == "same" && weight.Size(2)%2 == 1 && weight.Size(3)%2 == 1 {
		if okP = true; word == "same" {
			padH, padW = dilation*(weight.Size(2)/2), dilation*(weight.Size(3)/2)
		}
	}
	groups, okG := a.or(6, "groups", 1).(int)
	if !okS || !okP || !okD || !okG {
		in.note("a convolution with settings that are not known, or with another dilation in each direction, is not followed")
		return unknown{}
	}
	c := shadow.Conv{Stride: strideH, Padding: padH, Dilation: dilation, Groups: groups}.Across(strideW, padW)
	return x.Conv2d(weight, optional(a, 2, "bias"), c).Hold()
}

// convTranspose2d implements F.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation).
func convTranspose2d(in *interpreter, a arguments) value {
	x, ok := image(a)
	weight, okW := card(a, 1, "weight")
	if !ok || !okW {
		return unknown{}
	}
	strideH, strideW, okS := pair(a.or(3, "stride", 1))
	padH, padW, okP := pair(a.or(4, "padding", 0))
	moreH, moreW, okM := pair(a.or(5, "output_padding", 0))
	groups, okG := a.or(6, "groups", 1).(int)
	dilation, okD := side(a.or(7, "dilation", 1))
	if !okS || !okP || !okM || !okG || !okD {
		in.note("a convolution with settings that are not known, or with another dilation in each direction, is not followed")
		return unknown{}
	}
	c := shadow.Conv{Stride: strideH, Padding: padH, Dilation: dilation, Groups: groups}.Across(strideW, padW)
	return x.ConvTranspose2d(weight, optional(a, 2, "bias"), c, [2]int{moreH, moreW}).Hold()
}

// conv1d implements F.conv1d(input, weight, bias, stride, padding, dilation, groups).
func conv1d(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	weight, okW := card(a, 1, "weight")
	if !ok || !okW || x.Dim() != 3 {
		in.noteTensors("conv1d", a)
		return unknown{}
	}
	width := weight.Size(2)
	stride, okS := single(a.or(3, "stride", 1))
	padding, okP := single(a.or(4, "padding", 0))
	dilation, okD := single(a.or(5, "dilation", 1))
	if word, _ := a.or(4, "padding", 0).(string); word == "valid" || word == "same" && width%2 == 1 {
		padding, okP = map[string]int{"same": dilation * (width / 2)}[word], true
	}
	groups, okG := a.or(6, "groups", 1).(int)
	switch {
	case !okS || !okP || !okD || !okG:
		in.note("a convolution with settings that are not known is not followed")
		return unknown{}
	case groups > 1 && groups == x.Size(1) && groups == weight.Size(0) && stride == 1 && dilation == 1:
		return x.Conv1dDepthwise(weight, optional(a, 2, "bias"), padding).Hold()
	}
	return x.Conv1d(weight, optional(a, 2, "bias"), shadow.Conv{Stride: stride, Padding: padding, Dilation: dilation, Groups: groups}).Hold()
}

// single returns a size in one dimension: a number, or a sequence of one.
func single(v value) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case sizeValue:
		if len(v) == 1 {
			return v[0], true
		}
	case *list:
		if len(v.items) == 1 {
			n, ok := v.items[0].(int)
			return n, ok
		}
	}
	return 0, false
}

// batchNorm implements F.batch_norm(input, running_mean, running_var, weight, bias, training).
func batchNorm(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	weight, bias := optional(a, 3, "weight"), optional(a, 4, "bias")
	mean, variance := optional(a, 1, "running_mean"), optional(a, 2, "running_var")
	if !ok {
		return unknown{}
	}
	if training, known := a.or(5, "training", false).(bool); known && !training && mean != nil {
		return x.BatchNormEval(weight, bias, mean, variance).Hold()
	}
	return x.BatchNorm(weight, bias, mean, variance).Hold()
}

// groupNorm implements F.group_norm(input, num_groups, weight, bias).
func groupNorm(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	groups, known := a.or(1, "num_groups", nil).(int)
	weight := optional(a, 2, "weight")
	if !ok || x.Dim() < 2 || !known || weight == nil {
		in.noteTensors("group_norm", a)
		return unknown{}
	}
	return x.GroupNorm(groups, weight, optional(a, 3, "bias")).Hold()
}

// pooled returns the height and width of the result of F.max_pool2d or F.avg_pool2d, for windows of any shape.
func pooled(in *interpreter, x *shadow.Tensor, a arguments, name string) (height, width int, ok bool) {
	kernelH, kernelW, okK := pair(a.or(1, "kernel_size", nil))
	strideH, strideW := kernelH, kernelW
	okS := true
	if s := a.or(2, "stride", nil); s != nil {
		strideH, strideW, okS = pair(s)
	}
	padH, padW, okP := pair(a.or(3, "padding", 0))
	dilation, okD := 1, true
	if name == "max_pool2d" {
		dilation, okD = side(a.or(4, "dilation", 1))
	}
	ceil, _ := a.or(-1, "ceil_mode", false).(bool)
	if !okK || !okS || !okP || !okD || strideH < 1 || strideW < 1 {
		in.note("%s is followed only with a window of known size", name)
		return 0, 0, false
	}
	along := func(size, kernel, stride, padding int) int {
		space := size + 2*padding - dilation*(kernel-1) - 1
		n := space/stride + 1
		if ceil && space%stride != 0 && n*stride < size+padding { // the last window starts inside the image
			n++
		}
		return n
	}
	return along(x.Size(2), kernelH, strideH, padH), along(x.Size(3), kernelW, strideW, padW), true
}

// maxPool2d implements F.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode).
func maxPool2d(in *interpreter, a arguments) value {
	x, ok := image(a)
	if !ok {
		in.noteTensors("max_pool2d", a)
		return unknown{}
	}
	height, width, known := pooled(in, x, a, "max_pool2d")
	if !known {
		return unknown{}
	}
	return x.MaxPool("max_pool2d_with_indices", height, width).Hold()
}

// avgPool2d implements F.avg_pool2d(input, kernel_size, stride, padding).
func avgPool2d(in *interpreter, a arguments) value {
	x, ok := image(a)
	if !ok {
		in.noteTensors("avg_pool2d", a)
		return unknown{}
	}
	height, width, known := pooled(in, x, a, "avg_pool2d")
	if !known {
		return unknown{}
	}
	return x.Resampled("avg_pool2d", height, width, true).Hold()
}

// adaptiveMaxPool2d implements F.adaptive_max_pool2d(input, output_size).
func adaptiveMaxPool2d(in *interpreter, a arguments) value {
	x, ok := image(a)
	height, width, known := pair(a.or(1, "output_size", nil))
	if !ok || !known {
		in.noteTensors("adaptive_max_pool2d", a)
		return unknown{}
	}
	return x.MaxPool("adaptive_max_pool2d", height, width).Hold()
}

// adaptiveAvgPool2d implements F.adaptive_avg_pool2d(input, output_size).
func adaptiveAvgPool2d(in *interpreter, a arguments) value {
	x, ok := image(a)
	height, width, known := pair(a.or(1, "output_size", nil))
	if !ok || !known {
		in.noteTensors("adaptive_avg_pool2d", a)
		return unknown{}
	}
	if height == 1 && width == 1 {
		return x.AdaptiveAvgPool2d().Hold()
	}
	return x.Resampled("_adaptive_avg_pool2d", height, width, true).Hold()
}

// interpolate implements F.interpolate(input, size, scale_factor, mode) for images.
func interpolate(in *interpreter, a arguments) value {
	if x, ok := card(a, 0, "input"); ok && (x.Dim() == 3 || x.Dim() == 5) {
		return in.resizedTo(x, a)
	}
	x, ok := image(a)
	if !ok {
		in.noteTensors("interpolate", a)
		return unknown{}
	}
	height, width, known := pair(a.or(1, "size", nil))
	if by, scaled := number(a.or(2, "scale_factor", nil)); !known && scaled {
		height, width, known = int(float64(x.Size(2))*by), int(float64(x.Size(3))*by), true
	}
	if !known {
		in.noteTensors("interpolate", a)
		return unknown{}
	}
	switch a.or(3, "mode", nil) {
	case "area":
		return x.Resampled("_adaptive_avg_pool2d", height, width, true).Hold()
	case "bicubic":
		return x.UpsampleBicubic(height, width).Hold()
	}
	return x.Upsample(height, width).Hold()
}

// gridSample implements F.grid_sample(input, grid).
func gridSample(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	grid, okG := card(a, 1, "grid")
	if !ok || !okG || x.Dim() != grid.Dim() || x.Dim() < 4 {
		in.noteTensors("grid_sample", a)
		return unknown{}
	}
	return x.GridSample(grid).Hold()
}
