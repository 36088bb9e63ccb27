// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"slices"
	"sync"

	"snug/internal/shadow"
)

// Tape is the work of a step, recorded so that it can be timed on any number of cards without another
// simulation. It is a simulate.Stopwatch.
type Tape struct {
	marks   []mark
	kernels []shadow.Kernel // without duplicates: identical layers launch identical kernels
	known   map[shadow.Kernel]uint32
	update  work
	times   int // how often the iteration that stands for others is done
}

// mark is one recorded event: its kind and, for host work and kernels, which one.
type mark struct {
	kind   tapeKind
	host   shadow.HostWork
	kernel uint32
}

type tapeKind uint8

const (
	hostMark tapeKind = iota
	kernelMark
	syncMark
	joinMark // a kernel that runs only if gradients exist already
	microMark
	moreMark // the first micro-batch once more, with gradients there
	updateMark
	timesMark // the following work is done several times
	onceMark  // the following work is done once
)

// work holds what the time of an optimizer step is computed from.
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
func (t *Tape) Host(h shadow.HostWork) { t.marks = append(t.marks, mark{kind: hostMark, host: h}) }

// Kernel notes work of the device.
func (t *Tape) Kernel(k shadow.Kernel) { t.launch(kernelMark, k) }

func (t *Tape) launch(kind tapeKind, k shadow.Kernel) {
	at, known := t.known[k]
	if !known {
		if t.known == nil {
			t.known = map[shadow.Kernel]uint32{}
		}
		at = uint32(len(t.kernels))
		t.known[k] = at
		t.kernels = append(t.kernels, k)
	}
	t.marks = append(t.marks, mark{kind: kind, kernel: at})
}

// Sync notes that the host waits.
func (t *Tape) Sync() { t.marks = append(t.marks, mark{kind: syncMark}) }

// Joins notes a gradient that becomes a leaf's gradient.
func (t *Tape) Joins(k shadow.Kernel) { t.launch(joinMark, k) }

// Times notes that the following work is done several times, or once again.
func (t *Tape) Times(n int) {
	kind := onceMark
	if n > 1 {
		kind, t.times = timesMark, n
	}
	t.marks = append(t.marks, mark{kind: kind})
}

// Reset makes the tape empty.
func (t *Tape) Reset() { *t = Tape{} }

// tapes keeps the memory of finished tapes for reuse.
var tapes sync.Pool // of *[]mark

// NewTape returns an empty tape with room for the marks of a run.
func NewTape() *Tape {
	if room, _ := tapes.Get().(*[]mark); room != nil {
		return &Tape{marks: *room}
	}
	return &Tape{}
}

// Finish ends a tape that is kept: it trims the tape to its marks and leaves the rest of the memory to the
// next one.
func (t *Tape) Finish() {
	room := t.marks[:0]
	t.marks = slices.Clone(t.marks)
	tapes.Put(&room)
}

// MicroDone notes the end of a micro-batch.
func (t *Tape) MicroDone() { t.marks = append(t.marks, mark{kind: microMark}) }

// MicroMore notes a micro-batch like the first one that finds its gradients.
func (t *Tape) MicroMore() { t.marks = append(t.marks, mark{kind: moreMark}) }

// Update notes the optimizer's step.
func (t *Tape) Update(optimizer string, params []*shadow.Tensor, clip bool) {
	t.update = workOf(optimizer, params, clip)
	t.marks = append(t.marks, mark{kind: updateMark})
}

// Seconds returns the time of the step on a card with these rates, with the given number of micro-batches.
func (t *Tape) Seconds(r Rates, accumulation int) float64 {
	k := newClock(r, Calibrated)
	t.play(k, false)
	return k.seconds(accumulation)
}

// play runs the clock through the tape. With more, it runs through the first micro-batch alone, as if
// gradients existed already.
func (t *Tape) play(k *clock, more bool) { t.stretch(k, 0, len(t.marks), more) }

// stretch runs the clock through some marks.
func (t *Tape) stretch(k *clock, from, to int, more bool) {
	for i := from; i < to; i++ {
		switch m := t.marks[i]; m.kind {
		case hostMark:
			k.work(m.host)
		case kernelMark:
			k.kernel(t.kernels[m.kernel])
		case joinMark:
			if more {
				k.kernel(t.kernels[m.kernel])
			}
		case syncMark:
			k.sync()
		case microMark:
			k.microDone()
			if more {
				return
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
			s := spanOf(k, func(c *clock) { t.stretch(c, first, end, more) })
			k.pass(s.times(t.times))
			i = end
		}
	}
}
