// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// torch.nn.functional's functions for volumes, and for signals where these are resized.

func registerVolumes() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"conv3d": conv3d, "conv_transpose3d": convTranspose3d, "max_pool3d": maxPool3d, "avg_pool3d": avgPool3d,
		"adaptive_avg_pool3d": adaptiveAvgPool3d, "adaptive_max_pool3d": adaptiveMaxPool3d,
	} {
		natives["torch.nn.functional."+name] = f
	}
	natives["torch.conv3d"], natives["torch.conv_transpose3d"] = conv3d, convTranspose3d
}

// triple returns a size in three directions: three numbers, or one for all.
func triple(v value) (out [3]int, ok bool) {
	if n, one := v.(int); one {
		return [3]int{n, n, n}, true
	}
	all := numbersOf(v)
	if len(all) == 1 {
		all = []int{all[0], all[0], all[0]}
	}
	return [3]int(append(all, 0, 0, 0)), len(all) == 3
}

// volume returns an argument if it is a batch of volumes on the card.
func volume(a arguments) (*shadow.Tensor, bool) {
	x, ok := card(a, 0, "input")
	return x, ok && x.Dim() == 5
}

// conv3dOf returns the settings of a convolution of volumes.
func conv3dOf(a arguments, weight *shadow.Tensor, dilation, groups int) (c shadow.Conv3d, ok bool) {
	var okS, okP, okD, okG bool
	c.Stride, okS = triple(a.or(3, "stride", 1))
	c.Dilation, okD = triple(a.or(dilation, "dilation", 1))
	c.Groups, okG = a.or(groups, "groups", 1).(int)
	switch word, _ := a.or(4, "padding", 0).(string); word {
	case "valid":
		okP = true
	case "same":
		okP = true
		for i := range 3 {
			c.Padding[i] = c.Dilation[i] * (weight.Size(2+i) - 1) / 2
		}
	default:
		c.Padding, okP = triple(a.or(4, "padding", 0))
	}
	return c, okS && okP && okD && okG
}

// conv3d implements F.conv3d(input, weight, bias, stride, padding, dilation, groups).
func conv3d(in *interpreter, a arguments) value {
	x, ok := volume(a)
	weight, okW := card(a, 1, "weight")
	if !ok || !okW {
		in.noteTensors("conv3d", a)
		return unknown{}
	}
	c, known := conv3dOf(a, weight, 5, 6)
	if !known {
		in.note("a convolution with settings that are not known is not followed")
		return unknown{}
	}
	return x.Conv3d(weight, optional(a, 2, "bias"), c).Hold()
}

// convTranspose3d implements F.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation).
func convTranspose3d(in *interpreter, a arguments) value {
	x, ok := volume(a)
	weight, okW := card(a, 1, "weight")
	more, okM := triple(a.or(5, "output_padding", 0))
	if !ok || !okW || !okM {
		in.noteTensors("conv_transpose3d", a)
		return unknown{}
	}
	c, known := conv3dOf(a, weight, 7, 6)
	if !known {
		in.note("a convolution with settings that are not known is not followed")
		return unknown{}
	}
	return x.ConvTranspose3d(weight, optional(a, 2, "bias"), c, more).Hold()
}

// pooledVolume returns the size of the result of F.max_pool3d or F.avg_pool3d.
func pooledVolume(x *shadow.Tensor, a arguments, dilates bool) ([]int, bool) {
	window, okW := triple(a.or(1, "kernel_size", nil))
	stride, okS := window, true
	if s := a.or(2, "stride", nil); s != nil {
		stride, okS = triple(s)
	}
	padding, okP := triple(a.or(3, "padding", 0))
	dilation := [3]int{1, 1, 1}
	okD := true
	if dilates {
		dilation, okD = triple(a.or(4, "dilation", 1))
	}
	if !okW || !okS || !okP || !okD {
		return nil, false
	}
	ceil, _ := a.or(-1, "ceil_mode", false).(bool)
	size := x.Sizes()
	for i := range 3 {
		space := size[2+i] + 2*padding[i] - dilation[i]*(window[i]-1) - 1
		n := space/max(stride[i], 1) + 1
		if ceil && space%stride[i] != 0 && n*stride[i] < size[2+i]+padding[i] {
			n++
		}
		size[2+i] = n
	}
	return size, true
}

func maxPool3d(in *interpreter, a arguments) value {
	x, ok := volume(a)
	if ok {
		if size, known := pooledVolume(x, a, true); known {
			return x.MaxPoolTo("max_pool3d_with_indices", size...).Hold()
		}
	}
	in.noteTensors("max_pool3d", a)
	return unknown{}
}

func avgPool3d(in *interpreter, a arguments) value {
	x, ok := volume(a)
	if ok {
		if size, known := pooledVolume(x, a, false); known {
			return x.ResizedTo("avg_pool3d", true, size...).Hold()
		}
	}
	in.noteTensors("avg_pool3d", a)
	return unknown{}
}

// adaptedVolume returns the size of the result of an adaptive pooling, in which None keeps a size.
func adaptedVolume(a arguments) (x *shadow.Tensor, size []int, ok bool) {
	x, ok = volume(a)
	if !ok {
		return nil, nil, false
	}
	size = x.Sizes()
	if l, several := a.or(1, "output_size", nil).(*list); several {
		for i, v := range l.items[:min(len(l.items), 3)] {
			if n, known := v.(int); known {
				size[2+i] = n
			} else if v != nil {
				return nil, nil, false
			}
		}
		return x, size, len(l.items) == 3
	}
	to, ok := triple(a.or(1, "output_size", nil))
	copy(size[2:], to[:])
	return x, size, ok
}

func adaptiveMaxPool3d(in *interpreter, a arguments) value {
	if x, size, ok := adaptedVolume(a); ok {
		return x.MaxPoolTo("adaptive_max_pool3d", size...).Hold()
	}
	in.noteTensors("adaptive_max_pool3d", a)
	return unknown{}
}

// adaptiveAvgPool3d implements F.adaptive_avg_pool3d(input, output_size), which is a mean if the result is one point.
func adaptiveAvgPool3d(in *interpreter, a arguments) value {
	x, size, ok := adaptedVolume(a)
	switch {
	case !ok:
		in.noteTensors("adaptive_avg_pool3d", a)
		return unknown{}
	case size[2] == 1 && size[3] == 1 && size[4] == 1:
		return x.Mean(true, -1, -2, -3).Hold()
	}
	return x.ResizedTo("_adaptive_avg_pool3d", true, size...).Hold()
}

// resizedTo implements F.interpolate for signals and volumes.
func (in *interpreter) resizedTo(x *shadow.Tensor, a arguments) value {
	size := x.Sizes()
	to := a.or(1, "size", nil)
	by := a.or(2, "scale_factor", nil)
	for i := range size[2:] {
		at := func(v value) value {
			switch l := v.(type) {
			case *list:
				return l.items[min(i, len(l.items)-1)]
			case sizeValue:
				return l[min(i, len(l)-1)]
			}
			return v
		}
		n, whole := at(to).(int)
		scale, scaled := number(at(by))
		switch {
		case whole:
			size[2+i] = n
		case scaled:
			size[2+i] = int(float64(size[2+i]) * scale)
		default:
			in.noteTensors("interpolate", a)
			return unknown{}
		}
	}
	if a.or(3, "mode", nil) == "area" {
		return x.ResizedTo("_adaptive_avg_pool", true, size...).Hold()
	}
	return x.UpsampleTo(size...).Hold()
}
