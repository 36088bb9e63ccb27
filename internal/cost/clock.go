// SPDX-License-Identifier: Apache-2.0

// Package cost estimates how long a training step takes on a card.
//
// Two clocks run side by side, as in a real process. The host clock advances with every op that Python
// dispatches. Each kernel is queued on the device, whose clock advances by the kernel's own time. The
// device starts a kernel when it has finished the previous one and the host has launched it. If the host
// is slower, the GPU waits for it; launch-bound steps need no rule of their own. When the host reads a
// value back, it waits for the device.
//
// A kernel takes the longer of two times: its arithmetic at the card's rate, with the tiles of a matrix
// product counted in whole waves over the multiprocessors, and its bytes at the card's bandwidth.
//
// The constants were calibrated once, on 69 runs of many models on one H200, and are the same for every
// model. Other cards are scaled by their rates. Transfers between GPUs and the loading of data are not
// modelled.
package cost

import (
	"snug/internal/kernel"
	"snug/internal/shadow"
)

// Rates is the speed of a card.
type Rates struct {
	Bandwidth float64 // bytes per second
	Half      float64 // dense matrix operations per second in float16 and bfloat16
	TF32      float64 // the same in TF32, which convolutions use for float32
	Single    float64 // operations per second in float32
	SMs       int     // multiprocessors
}

// Constants are the calibrated values, in seconds unless said otherwise.
type Constants struct {
	Op, View, Call, Node, Leaf float64 // seconds of host time for each kind of work (see shadow.HostWork)
	Hook                       float64 // time of the host for a hook of a checkpoint
	Param                      float64 // time of the optimizer's Python per parameter
	Sync                       float64 // reading a value back
	Step                       float64 // time of a step besides its ops: the loop, the batch, zero_grad
	Launch                     float64 // the shortest a kernel takes on the device
	Memory, Random             float64 // share of the bandwidth that kernels reach, without and with random numbers
	Half, Single               float64 // share of the matrix rates that products reach
	Attention, Conv            float64 // the same for attention and convolutions
}

// Calibrated are the constants that fit the measurements best. What an optimizer's update costs is in
// update.go.
var Calibrated = Constants{
	Op: 2.2e-6, View: 2.9e-6, Call: 41e-6, Node: 17.5e-6, Leaf: 8.4e-6, Hook: 27.6e-6,
	Param: 10.7e-6, Sync: 100e-6, Step: 6e-3, Launch: 7.4e-6,
	Memory: 0.64, Random: 0.083, Half: 1, Single: 0.91, Attention: 0.44, Conv: 0.146,
}

// clock counts the seconds of a step as a Tape is played.
type clock struct {
	rates Rates
	c     Constants

	host, device float64
	micro        []float64 // when each micro-batch was done, by the later clock
}

// newClock returns a clock at zero.
func newClock(r Rates, c Constants) *clock { return &clock{rates: r, c: c} }

// work advances the host.
func (k *clock) work(h shadow.HostWork) {
	switch h {
	case shadow.HostOp:
		k.host += k.c.Op
	case shadow.HostView:
		k.host += k.c.View
	case shadow.HostCall:
		k.host += k.c.Call
	case shadow.HostNode:
		k.host += k.c.Node
	case shadow.HostLeaf:
		k.host += k.c.Leaf
	case shadow.HostHook:
		k.host += k.c.Hook
	}
}

// kernel queues work on the device.
func (k *clock) kernel(w shadow.Kernel) { k.run(k.takes(w)) }

func (k *clock) run(seconds float64) {
	k.device = max(k.device, k.host) + k.c.Launch + seconds
}

// sync makes the host wait.
func (k *clock) sync() { k.host = max(k.host, k.device) + k.c.Sync }

// takes returns the time of a kernel on the device, without its launch.
func (k *clock) takes(w shadow.Kernel) float64 {
	bytes := w.Bytes / k.rates.Bandwidth
	switch w.Work {
	case shadow.Streaming:
		return bytes / k.c.Memory
	case shadow.Random:
		return bytes / k.c.Random
	}
	return max(bytes/k.c.Memory, k.arithmetic(w))
}

// arithmetic returns the time of a kernel's multiplications. As PyTorch does by default, matrix products
// of float32 are exact and convolutions use TF32.
func (k *clock) arithmetic(w shadow.Kernel) float64 {
	half := w.DType.Half()
	switch {
	case w.Work == shadow.Product && half:
		return w.Flops / (k.rates.Half * k.c.Half) * kernel.ProductWaste(w.B, w.M, w.N, k.rates.SMs)
	case w.Work == shadow.Product:
		return w.Flops / (k.rates.Single * k.c.Single) * kernel.ProductWaste(w.B, w.M, w.N, k.rates.SMs)
	case w.Work == shadow.Attending && half:
		return w.Flops / (k.rates.Half * k.c.Attention)
	case w.Work == shadow.Attending:
		return w.Flops / (k.rates.Single * k.c.Attention)
	case half:
		return w.Flops / (k.rates.Half * k.c.Conv)
	}
	return w.Flops / (k.rates.TF32 * k.c.Conv)
}
