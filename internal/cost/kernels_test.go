// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math"
	"testing"

	"snug/internal/gpu"
	"snug/internal/shadow"
)

// TestMeasuredKernels compares estimates with kernels timed individually on an H200, in microseconds.
func TestMeasuredKernels(t *testing.T) {
	product := func(m, n, k int32, dt shadow.DType) shadow.Kernel {
		size := 4.0
		if dt.Half() {
			size = 2
		}
		bytes := size * (float64(m)*float64(n) + float64(m)*float64(k) + float64(n)*float64(k))
		return shadow.Kernel{Work: shadow.Product, B: 1, M: m, N: n, K: k, Flops: 2 * float64(m) * float64(n) * float64(k), Bytes: bytes, DType: dt}
	}
	attention := func(kind shadow.Work, b, s, d int32, products, scores float64) shadow.Kernel {
		return shadow.Kernel{Work: kind, B: b, M: s, N: s, K: d, Flops: 2 * products * scores * float64(d), DType: shadow.BFloat16}
	}
	causal := 4 * 32 * 2048.0 * 2048 / 2
	wide := 2 * 32 * 4096.0 * 4096 / 2
	for name, c := range map[string]struct {
		kernel shadow.Kernel
		micros float64
	}{
		"large product":           {product(8192, 8192, 8192, shadow.BFloat16), 1537},
		"product of a small size": {product(8192, 3072, 768, shadow.BFloat16), 61.8},
		"weight gradient":         {product(3072, 768, 32768, shadow.BFloat16), 214},
		"float32":                 {product(8192, 2048, 2048, shadow.Float32), 1395},
		"even vocabulary":         {product(16384, 30522, 768, shadow.BFloat16), 3078},
		"odd vocabulary":          {product(16384, 50257, 768, shadow.BFloat16), 10234},
		"GELU":                    {shadow.Kernel{Bytes: 4 << 26}, 89},
		"dropout":                 {shadow.Kernel{Bytes: 5 << 26, Draws: 1 << 26, DType: shadow.BFloat16}, 115},
		"softmax":                 {shadow.Kernel{Work: shadow.Rowwise, Bytes: 8 * 8192 * 50257}, 1517},
		"cuDNN attention":         {attention(shadow.CudnnAttending, 128, 2048, 64, 7, causal), 819},
		"flash attention":         {attention(shadow.Attending, 64, 4096, 128, 7, wide), 3630},
		"efficient attention":     {attention(shadow.Efficient, 64, 4096, 128, 7, wide), 7383},
		"batch norm":              {shadow.Kernel{Work: shadow.BatchNorming, B: 256, M: 128 * 56 * 56, Bytes: 12 * 128 * 256 * 56 * 56}, 417},
		"its backward":            {shadow.Kernel{Work: shadow.BatchNormingBack, B: 256, M: 128 * 56 * 56, Bytes: 20 * 128 * 256 * 56 * 56}, 762},
	} {
		k := newClock(reference(t), Calibrated)
		if got := 1e6 * (k.takes(c.kernel) + k.c.Launch); math.Abs(got/c.micros-1) > 0.25 {
			t.Errorf("%s takes %.1f µs, measured %.1f", name, got, c.micros)
		}
	}
}

// TestTransfers checks that a reduction overlaps with the kernels after it, and that only a wait stalls the
// device.
func TestTransfers(t *testing.T) {
	r := Rates{Link: 100e9, Network: 50e9, SMs: 1, Bandwidth: 1}
	c := Constants{Link: 1, Memory: 1, Stream: math.Inf(1)}
	play := func(n int32, wait bool) float64 {
		tape := &Tape{}
		tape.Kernel(shadow.Kernel{Bytes: 1})
		tape.Send(shadow.Kernel{Work: shadow.Reducing, B: n, Bytes: 300e9})
		tape.Kernel(shadow.Kernel{Bytes: 1})
		if wait {
			tape.Receive(shadow.Reducing)
		}
		k := newClock(r, c)
		tape.play(k, tape.timed(k), false)
		return k.seconds(1)
	}
	for _, x := range []struct {
		gpus int32
		wait bool
		want float64
	}{{8, false, 2}, {8, true, 4}, {16, true, 7}} {
		if got := play(x.gpus, x.wait); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("among %d GPUs, waiting %v: %v s, want %v", x.gpus, x.wait, got, x.want)
		}
	}
}

// TestGathersOverlap checks that the device waits for gathers, but not for gradients in flight.
func TestGathersOverlap(t *testing.T) {
	tape := &Tape{}
	tape.Send(shadow.Kernel{Work: shadow.Gathering, B: 2, Bytes: 100e9})
	tape.Send(shadow.Kernel{Work: shadow.Reducing, B: 2, Bytes: 100e9})
	tape.Receive(shadow.Gathering)
	k := newClock(Rates{Link: 100e9, SMs: 1, Bandwidth: 1}, Constants{Link: 1})
	tape.play(k, tape.timed(k), false)
	if k.device != 1 || k.link != 2 {
		t.Errorf("the device waits until %v s, the link is busy until %v; want 1 and 2", k.device, k.link)
	}
}

// TestEveryCardIsTimed checks that the catalog has the data that the clock needs for every card.
func TestEveryCardIsTimed(t *testing.T) {
	for _, c := range gpu.Cards() {
		r, ok := RatesOf(c)
		if !ok || r.sustained <= 0 || r.Older <= 0 || r.Older > r.Half || r.Link <= 0 || r.Network <= 0 {
			t.Errorf("%s: %+v", c.Name, r)
		}
	}
}
