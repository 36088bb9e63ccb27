// SPDX-License-Identifier: Apache-2.0

// Package cost estimates how long a training step takes on a card.
//
// Several clocks run in parallel, as in a real process. The host clock advances with every op that Python
// dispatches. Each kernel is queued on the device, whose clock advances by the kernel's own time. The device
// starts a kernel when it has finished the previous one and the host has launched it. If the host is slower, the
// GPU waits for it, so launch-bound steps need no special rule. When the host reads a value back, it waits for
// the device. Transfers between GPUs have their own clock: they run alongside the kernels, and the device waits
// for them only where DDP, FSDP or ZeRO does.
//
// A kernel takes the longer of two times: its arithmetic at the rate that kernels of its kind reach, and its
// bytes at the card's bandwidth. The rules are in kernels.go, a card's capabilities in rates.go, and measured
// values in constants.go.
//
// Data loading is not modeled.
package cost

import "snug/internal/shadow"

// clock counts the seconds of a step as a Tape is played.
type clock struct {
	rates Rates
	c     Constants

	host, device   float64
	link, gathered float64   // end times of the last transfer between GPUs and of the last all-gather
	micro          []float64 // end time of each micro-batch: the later of host and device
}

// clocks is the number of clocks.
const clocks = 4

func (k *clock) all() [clocks]*float64 {
	return [clocks]*float64{&k.host, &k.device, &k.link, &k.gathered}
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

// run queues a kernel that takes the given seconds on the device.
func (k *clock) run(seconds float64) {
	k.device = max(k.device, k.host) + k.c.Launch + seconds
}

// sync makes the host wait for the device.
func (k *clock) sync() { k.host = max(k.host, k.device) + k.c.Sync }

// send queues a transfer. Transfers run alongside the kernels, one after the other; a reduction waits for the
// gradients it sends.
func (k *clock) send(work shadow.Work, seconds float64) {
	ready := k.host
	if work == shadow.Reducing {
		ready = max(k.host, k.device)
	}
	k.link = max(k.link, ready) + seconds
	if work == shadow.Gathering {
		k.gathered = k.link
	}
}
