// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"slices"
	"sync"

	"snug/internal/shadow"
)

// Tape is a recording of a step's work, which can be timed on any number of cards without another simulation. It
// is a simulate.Stopwatch.
type Tape struct {
	marks   []mark
	kernels []shadow.Kernel // without duplicates: identical layers launch identical kernels
	known   map[shadow.Kernel]uint32
	update  work
	times   int // how many iterations the current one represents
}

// mark is one recorded event: its kind, and which host work or kernel it is.
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
	joinMark // a kernel that runs only if gradients already exist
	microMark
	moreMark // the first micro-batch again, with gradients present
	updateMark
	timesMark   // the following work is done several times
	onceMark    // the following work is done once
	sendMark    // a transfer between GPUs begins
	gatherMark  // the device waits for all-gathers
	receiveMark // the device waits for all transfers
)

// work holds the inputs to the time of an optimizer step.
type work struct {
	optimizer string
	bytes     float64
	params    int
	share     float64 // share of the usual bandwidth: 16-bit states are read in narrower pieces
	clip      bool
}

func workOf(optimizer string, params []*shadow.Tensor, clip bool) work {
	w := work{optimizer: optimizer, params: len(params), clip: clip, share: 1}
	for _, p := range params {
		w.bytes += float64(p.Bytes())
	}
	if len(params) > 0 && params[0].DType().Half() {
		w.share = 0.8
	}
	return w
}

// Host records host work.
func (t *Tape) Host(h shadow.HostWork) { t.marks = append(t.marks, mark{kind: hostMark, host: h}) }

// Kernel records device work.
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

// Sync records that the host waits for the device.
func (t *Tape) Sync() { t.marks = append(t.marks, mark{kind: syncMark}) }

// Joins records that a leaf receives a gradient.
func (t *Tape) Joins(k shadow.Kernel) { t.launch(joinMark, k) }

// Send records a transfer between GPUs.
func (t *Tape) Send(k shadow.Kernel) { t.launch(sendMark, k) }

// Receive records that the device waits for transfers.
func (t *Tape) Receive(kind shadow.Work) {
	m := mark{kind: receiveMark}
	if kind == shadow.Gathering {
		m.kind = gatherMark
	}
	t.marks = append(t.marks, m)
}

// Times records that the following work is repeated n times; n = 1 ends the repetition.
func (t *Tape) Times(n int) {
	kind := onceMark
	if n > 1 {
		kind, t.times = timesMark, n
	}
	t.marks = append(t.marks, mark{kind: kind})
}

// Reset makes the tape empty.
func (t *Tape) Reset() { *t = Tape{} }

// tapes recycles the memory of finished tapes.
var tapes sync.Pool // of *[]mark

// NewTape returns an empty tape with room for the marks of a run.
func NewTape() *Tape {
	if room, _ := tapes.Get().(*[]mark); room != nil {
		return &Tape{marks: *room}
	}
	return &Tape{}
}

// Finish copies the marks to a slice of their size and recycles the tape's buffer.
func (t *Tape) Finish() {
	room := t.marks[:0]
	t.marks = slices.Clone(t.marks)
	tapes.Put(&room)
}

// MicroDone records the end of a micro-batch.
func (t *Tape) MicroDone() { t.marks = append(t.marks, mark{kind: microMark}) }

// MicroMore records a micro-batch like the first one, but with gradients present.
func (t *Tape) MicroMore() { t.marks = append(t.marks, mark{kind: moreMark}) }

// Update records the optimizer's step.
func (t *Tape) Update(optimizer string, params []*shadow.Tensor, clip bool) {
	t.update = workOf(optimizer, params, clip)
	t.marks = append(t.marks, mark{kind: updateMark})
}

// Seconds returns the time of the step on a card with these rates, with the given number of micro-batches.
func (t *Tape) Seconds(r Rates, accumulation int) float64 {
	k := newClock(r, Calibrated)
	t.play(k, t.timed(k), false)
	return k.seconds(accumulation)
}

// timed returns how long each of the tape's kernels takes.
func (t *Tape) timed(k *clock) []float64 {
	out := make([]float64, len(t.kernels))
	for i, w := range t.kernels {
		out[i] = k.takes(w)
	}
	return out
}

// play runs the clock through the tape; takes has the time of each kernel. If more is set, it runs only through the
// first micro-batch, as if gradients already existed.
func (t *Tape) play(k *clock, takes []float64, more bool) { t.stretch(k, takes, 0, len(t.marks), more) }

// stretch runs the clock through the marks [from, to).
func (t *Tape) stretch(k *clock, takes []float64, from, to int, more bool) {
	for i := from; i < to; i++ {
		switch m := t.marks[i]; m.kind {
		case hostMark:
			k.work(m.host)
		case kernelMark:
			k.run(takes[m.kernel])
		case joinMark:
			if more {
				k.run(takes[m.kernel])
			}
		case syncMark:
			k.sync()
		case sendMark:
			k.send(t.kernels[m.kernel].Work, takes[m.kernel])
		case gatherMark:
			k.device = max(k.device, k.gathered)
		case receiveMark:
			k.device = max(k.device, k.link)
		case microMark:
			k.microDone()
			if more {
				return
			}
		case moreMark:
			t.play(k, takes, true)
		case updateMark:
			k.updated(t.update)
		case timesMark:
			first, end := i+1, i+1
			for end < to && t.marks[end].kind != onceMark {
				end++
			}
			s := spanOf(k, func(c *clock) { t.stretch(c, takes, first, end, more) })
			k.pass(s.times(t.times))
			i = end
		}
	}
}
