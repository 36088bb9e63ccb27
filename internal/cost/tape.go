// SPDX-License-Identifier: Apache-2.0

package cost

import "snug/internal/shadow"

// Tape is the work of a step, noted down so that it can be timed on any number
// of cards without being simulated again. It is a simulate.Stopwatch.
type Tape struct {
	marks   []mark
	kernels []shadow.Kernel
	update  work
}

// mark is one thing that happened: a kind, and for the host's work which.
type mark struct {
	kind tapeKind
	host shadow.HostWork
}

type tapeKind uint8

const (
	hostMark tapeKind = iota
	kernelMark
	syncMark
	microMark
	updateMark
)

// work is what an optimizer's step is counted from.
type work struct {
	optimizer string
	bytes     float64
	params    int
	clip      bool
}

func workOf(optimizer string, params []*shadow.Tensor, clip bool) work {
	w := work{optimizer: optimizer, params: len(params), clip: clip}
	for _, p := range params {
		w.bytes += float64(p.Bytes())
	}
	return w
}

// Host notes work of the host.
func (t *Tape) Host(h shadow.HostWork) { t.marks = append(t.marks, mark{hostMark, h}) }

// Kernel notes work of the device.
func (t *Tape) Kernel(k shadow.Kernel) {
	t.marks = append(t.marks, mark{kind: kernelMark})
	t.kernels = append(t.kernels, k)
}

// Sync notes that the host waits.
func (t *Tape) Sync() { t.marks = append(t.marks, mark{kind: syncMark}) }

// MicroDone notes the end of a micro-batch.
func (t *Tape) MicroDone() { t.marks = append(t.marks, mark{kind: microMark}) }

// Update notes the optimizer's step.
func (t *Tape) Update(optimizer string, params []*shadow.Tensor, clip bool) {
	t.update = workOf(optimizer, params, clip)
	t.marks = append(t.marks, mark{kind: updateMark})
}

// Seconds is how long the step takes on a card with these rates, with the given
// number of micro-batches.
func (t *Tape) Seconds(r Rates, accumulation int) float64 {
	k := NewClock(r, Calibrated)
	next := 0
	for _, m := range t.marks {
		switch m.kind {
		case hostMark:
			k.Host(m.host)
		case kernelMark:
			k.Kernel(t.kernels[next])
			next++
		case syncMark:
			k.Sync()
		case microMark:
			k.MicroDone()
		case updateMark:
			k.updated(t.update)
		}
	}
	return k.Seconds(accumulation)
}
