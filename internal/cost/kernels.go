// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math"

	"snug/internal/kernel"
	"snug/internal/shadow"
)

// takes returns the time of a kernel on the device, without its launch, or of a transfer.
func (k *clock) takes(w shadow.Kernel) float64 {
	memory := k.moving(w.Bytes, k.c.Stream)
	drawing := w.Draws * k.c.Draw / k.rates.Single
	switch w.Work {
	case shadow.Streaming:
		return max(memory, 2*drawing)
	case shadow.Rowwise:
		return k.moving(w.Bytes, k.c.Rowwise)
	case shadow.BatchNorming, shadow.BatchNormingBack:
		return max(memory, k.normalizing(w))
	case shadow.Convolution:
		return k.convolving(w)
	case shadow.Depthwise:
		return max(memory, w.Flops/(k.rates.Single*k.c.Depthwise))
	case shadow.Gathering, shadow.Reducing:
		return k.c.Transfer + w.Bytes/(k.rates.between(int(w.B))*k.c.Link)
	case shadow.Product:
		return max(memory, k.multiplying(w))
	}
	return max(memory, w.Flops/k.attending(w)) + drawing
}

// moving returns the time to read and write bytes if each multiprocessor moves at most the given bytes per second.
// The higher the card's bandwidth per multiprocessor, the smaller the share of it that kernels reach.
func (k *clock) moving(bytes, each float64) float64 {
	return bytes/(k.rates.Bandwidth*k.c.Memory) + bytes/(each*float64(k.rates.SMs))
}

// multiplying returns the time of a matrix product's multiplications. Products in float32 do not use TF32, as is
// PyTorch's default.
func (k *clock) multiplying(w shadow.Kernel) float64 {
	rate := k.rates.Single * k.rates.sustained
	if w.DType.Half() {
		rate = k.rates.Half * k.rates.sustained
		switch {
		case (w.M|w.N|w.K)&1 != 0:
			rate = min(rate, k.c.Odd*float64(k.rates.SMs))
		case (w.M|w.N|w.K)&7 != 0:
			rate = min(rate, k.c.Even*float64(k.rates.SMs))
		}
	}
	return w.Flops / rate * kernel.ProductWaste(int(w.B), int(w.M), int(w.N), int(w.K), k.rates.SMs)
}

// normalizing returns the time of a batch norm with channels first, in which one multiprocessor works on
// each channel. cuDNN does not support bfloat16 here, and PyTorch's own kernels are slower.
func (k *clock) normalizing(w shadow.Kernel) float64 {
	rate := k.c.Norm
	if w.Work == shadow.BatchNormingBack {
		rate = k.c.NormBack
	}
	if w.DType == shadow.BFloat16 {
		rate *= k.c.NormNative
	}
	return float64(w.M) * math.Ceil(float64(w.B)/float64(k.rates.SMs)) / rate
}

// convolving returns the time of a convolution: its multiplications (in TF32 if the card supports it) or its
// bytes, plus layout conversions.
func (k *clock) convolving(w shadow.Kernel) float64 {
	rate, converted := min(k.rates.Half*k.rates.sustained, k.c.Conv*float64(k.rates.SMs)), k.c.Convert
	switch {
	case w.DType.Half():
	case k.rates.TF32 > 0:
		rate, converted = min(k.rates.TF32*k.rates.sustained, k.c.Conv/2*float64(k.rates.SMs)), k.c.ConvertTF32
	default:
		rate, converted = k.rates.Single*k.rates.sustained, 0
	}
	bytes := k.moving(w.Bytes, k.c.Stream)
	return max(bytes, w.Flops/rate) + float64(w.B)*converted*bytes
}

// attending returns the rate of an attention kernel. With narrow heads and short sequences the kernel is idle for
// more of the time.
func (k *clock) attending(w shadow.Kernel) float64 {
	rate := k.rates.Older * k.c.Attention
	switch {
	case !w.DType.Half():
		return k.rates.Single * k.rates.sustained * k.c.Efficient
	case w.Work == shadow.Efficient:
		rate = k.rates.Older * k.c.Efficient
	case w.Work == shadow.CudnnAttending:
		rate = k.rates.Half * k.c.Cudnn
	}
	if w.K <= 64 {
		rate *= k.c.Narrow
	}
	return rate * float64(w.N) / (float64(w.N) + k.c.Short)
}
