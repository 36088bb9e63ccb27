// SPDX-License-Identifier: Apache-2.0

package cost

import "snug/internal/shadow"

// Tape is the work of a step, noted down so that it can be timed on any number
// of cards without being simulated again. It is a simulate.Stopwatch.
type Tape struct {
	marks   []mark
	kernels []shadow.Kernel // of the marks that have one, in order
	update  work
	times   int // what the turn that stands for others is done
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
	joinMark // a kernel where gradients are there already
	microMark
	moreMark // the first micro-batch once more, with gradients there
	updateMark
	timesMark // what follows is done several times over
	onceMark  // and what follows here is not
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

// Joins notes a gradient that a leaf takes over.
func (t *Tape) Joins(k shadow.Kernel) {
	t.marks = append(t.marks, mark{kind: joinMark})
	t.kernels = append(t.kernels, k)
}

// Times notes that what follows is done several times over, or no longer.
func (t *Tape) Times(n int) {
	kind := onceMark
	if n > 1 {
		kind, t.times = timesMark, n
	}
	t.marks = append(t.marks, mark{kind: kind})
}

// Reset makes the tape empty.
func (t *Tape) Reset() { *t = Tape{} }

// MicroDone notes the end of a micro-batch.
func (t *Tape) MicroDone() { t.marks = append(t.marks, mark{kind: microMark}) }

// MicroMore notes a micro-batch like the first one that finds its gradients.
func (t *Tape) MicroMore() { t.marks = append(t.marks, mark{kind: moreMark}) }

// Update notes the optimizer's step.
func (t *Tape) Update(optimizer string, params []*shadow.Tensor, clip bool) {
	t.update = workOf(optimizer, params, clip)
	t.marks = append(t.marks, mark{kind: updateMark})
}

// Seconds is how long the step takes on a card with these rates, with the given
// number of micro-batches.
func (t *Tape) Seconds(r Rates, accumulation int) float64 {
	k := newClock(r, Calibrated)
	t.play(k, false)
	return k.seconds(accumulation)
}

// play runs the clock through the tape. With more it is through the first
// micro-batch alone, as one that finds gradients.
func (t *Tape) play(k *clock, more bool) { t.stretch(k, 0, len(t.marks), 0, more) }

// stretch runs the clock through some marks, the first kernel of which is next, and
// says which comes after them.
func (t *Tape) stretch(k *clock, from, to, next int, more bool) int {
	for i := from; i < to; i++ {
		switch m := t.marks[i]; m.kind {
		case hostMark:
			k.work(m.host)
		case kernelMark:
			k.kernel(t.kernels[next])
			next++
		case joinMark:
			if more {
				k.kernel(t.kernels[next])
			}
			next++
		case syncMark:
			k.sync()
		case microMark:
			k.microDone()
			if more {
				return next
			}
		case moreMark:
			t.play(k, true)
		case updateMark:
			k.updated(t.update)
		case timesMark:
			first, end := i+1, i+1
			for end < to && t.marks[end].kind != onceMark {
				end++
			}
			was := next
			s := spanOf(k, func(c *clock) { next = t.stretch(c, first, end, was, more) })
			k.pass(s.times(t.times))
			i = end
		}
	}
	return next
}
