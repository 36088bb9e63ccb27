// SPDX-License-Identifier: Apache-2.0

// Package watch analyzes what a training run does with its GPU's memory. Samples go in, one Event at a time, and a
// Reading comes out: the state of the run, the evidence for it, how many steps are left if memory grows, and what to
// do.
//
// The package reads no clock and opens no source. Events come from a recording (Reader) or from a live source
// (package watch/live), and the verdicts are the same.
//
//	event.go     one line of a recording
//	reader.go    reads recordings
//	watch.go     the Watcher: turns events into readings
//	state.go     the states, and the fields of a reading
//	process.go   what is known about a process
//	card.go      what is known about a card
//	history.go   stores points in bounded memory
//	growth.go    distinguishes a leak from everything else that varies
//	stairs.go    decides whether a few jumps are a leak
//	judge.go     the state of a process that reports steps
//	unprobed.go  the state of a process that only the driver reports on
//	batches.go   what the batches explain
//	outside.go   memory that PyTorch does not count
//	forecast.go  when memory will run out
//	rare.go      steps that needed the most
//	spikes.go    steps after checkpoints, and evaluations that keep their outputs
//	expect.go    compares steps with a prediction
//	ranks.go     compares the processes of one run
//	advice.go    what to do
//	view.go      everything there is to show
package watch

import (
	"fmt"
	"slices"
)

// Options describe what to watch.
type Options struct {
	PIDs []int // the processes to watch; empty means those that a recording names, or else all
}

// Watcher processes events and keeps the reading up to date.
type Watcher struct {
	opts    Options
	pid     int          // process of the first start event that names one; events without a PID belong to it
	started map[int]bool // processes named in start events
	total   int64
	limit   int64
	procs   map[int]*process
	cards   map[Device]*card
	t       float64
	now     Reading
	told    bool // now is a valid reading
	next    State
	agreed  int     // consecutive times that next was the verdict
	before  Reading // the reading before the state changed
	ended   bool
	stepped int    // number of training steps of all processes
	own     bool   // only processes that report are watched
	notes   []Note // the newest notes

	expected *Expected        // the prediction; nil if there is none
	advised  map[State]string // advice that was computed for this run
}

// mostNotes is how many notes are kept for a screen.
const mostNotes = 8

// New returns a Watcher.
func New(o Options) *Watcher {
	return &Watcher{opts: o, started: map[int]bool{}, procs: map[int]*process{}, cards: map[Device]*card{}}
}

// begin forgets the previous run.
func (w *Watcher) begin() {
	fresh := New(w.opts)
	fresh.t, fresh.now, fresh.told, fresh.notes = w.t, w.now, w.told, w.notes
	fresh.expected, fresh.advised = w.expected, w.advised
	*w = *fresh
}

// Add processes an event. It returns the reading and whether the state has changed.
func (w *Watcher) Add(e Event) (Reading, bool) {
	w.t = e.T
	switch e.Kind {
	case KindStart:
		w.start(e)
	case KindLimit:
		w.addLimit(e)
	case KindGPU:
		w.addGPU(e)
	case KindStep:
		w.addStep(e)
	case KindOOM:
		w.addOOM(e)
	case KindNote:
		w.notes = append(w.notes, Note{e.T, e.Message})
		w.notes = w.notes[max(0, len(w.notes)-mostNotes):]
	case KindEnd:
		w.ended = true
	}
	return w.read(e)
}

func (w *Watcher) start(e Event) {
	if w.ended { // another run, in a recording that was joined from several
		w.begin()
	}
	if e.Total > 0 {
		w.total = e.Total
	}
	w.own = w.own || e.Own
	if e.PID == 0 {
		return
	}
	w.started[e.PID] = true
	if w.pid == 0 {
		w.pid = e.PID
	}
	p := w.process(e.PID)
	if e.Total > 0 {
		p.total = e.Total
	}
	if e.Rank != nil {
		p.rank, p.world = e.Rank, e.World
	}
}

// totalOf returns the memory of a process's card as PyTorch sees it; 0 if it is not known.
func (w *Watcher) totalOf(p *process) float64 {
	if p.total > 0 {
		return float64(p.total)
	}
	return float64(w.total)
}

func (w *Watcher) process(pid int) *process {
	p := w.procs[pid]
	if p == nil {
		p = &process{pid: pid, gpu: Device{Index: -1}, limit: w.limit, curve: curve[StepPoint]{merge: mergeSteps}}
		w.procs[pid] = p
	}
	return p
}

func (w *Watcher) addLimit(e Event) {
	if e.PID == 0 {
		w.limit = e.Limit
		for _, p := range w.procs {
			p.limit = e.Limit
		}
		return
	}
	w.process(e.PID).limit = e.Limit
}

func (w *Watcher) addStep(e Event) {
	pid := e.PID
	if pid == 0 {
		pid = w.pid
	}
	p := w.process(pid)
	p.addStep(e.T, e.Step, w.expected)
	if e.Step.Phase == Train {
		w.stepped++
		p.look(w.capacity(p))
		if c := w.card(p); c != nil {
			p.outside.look(p.step, float64(c.total))
			p.leaked = p.leaked || p.outside.leaks
		}
	}
}

func (w *Watcher) addOOM(e Event) {
	pid := e.PID
	if pid == 0 {
		pid = w.pid
	}
	p := w.process(pid)
	p.failed, p.oom, p.oomSteps = true, e.Message, 0
}

func (w *Watcher) addGPU(e Event) {
	device := e.GPU.Device()
	c := w.cards[device]
	if c == nil {
		c = &card{device: device, curve: curve[CurvePoint]{merge: mergeCurve}}
		w.cards[device] = c
	}
	c.add(e.T, e.GPU)
	c.others = map[int]int64{}
	for _, p := range w.procs {
		delete(p.held, device)
		if p.gpu == device {
			p.present = false
		}
	}
	for _, x := range e.GPU.Procs {
		if !w.mine(x.PID) {
			c.others[x.PID] = x.Used
			continue
		}
		p := w.process(x.PID)
		if !p.on(device, x.Used) {
			continue // this is not the process's main card
		}
		p.addUsed(e.T, x.Used)
		if !p.seenStep {
			p.lookAtMemory(c, w.memoryCapacity(p))
		}
	}
	for pid, p := range w.procs {
		if p.gpu != device {
			continue
		}
		p.gone = !p.present && len(p.held) == 0
		if p.gone && !p.seenStep && len(w.procs) > mostGone {
			delete(w.procs, pid)
		}
	}
}

// mostGone is how many ended processes are kept, so that their ends can be shown.
const mostGone = 32

// mine reports whether a process is watched.
func (w *Watcher) mine(pid int) bool {
	if p := w.procs[pid]; p != nil && p.seenStep {
		return true
	}
	if len(w.opts.PIDs) > 0 {
		return slices.Contains(w.opts.PIDs, pid)
	}
	return !w.own && len(w.started) == 0 || w.started[pid]
}

// card returns the card that a process is listed on, or the only card.
func (w *Watcher) card(p *process) *card {
	if c := w.cards[p.gpu]; c != nil {
		return c
	}
	if len(w.cards) == 1 {
		for _, c := range w.cards {
			return c
		}
	}
	return nil
}

// capacity returns how much PyTorch could reserve in a process: its cap, or what the card has left for it.
func (w *Watcher) capacity(p *process) float64 {
	most := w.totalOf(p)
	if c := w.card(p); c != nil && c.total > 0 {
		outside := p.outsideNow()
		taken := float64(c.used-p.used) + outside
		if p.used == 0 { // the driver does not list the process
			taken = max(0, float64(c.used)-float64(p.last.Reserved))
		}
		left := float64(c.total) - taken
		if most > 0 { // PyTorch's total may be less than the driver's
			others, _ := c.otherProcess()
			left = min(left, most-outside-float64(others))
		}
		most = max(left, float64(p.last.Reserved))
	}
	if p.limit > 0 && (most == 0 || float64(p.limit) < most) {
		most = float64(p.limit)
	}
	return most
}

// memoryCapacity returns how much of its card a process could use, including its context, according to the driver.
func (w *Watcher) memoryCapacity(p *process) float64 {
	most := w.totalOf(p)
	if c := w.card(p); c != nil && c.total > 0 {
		most = float64(c.total - (c.used - p.used))
	}
	if limit := float64(p.limit + p.context); p.limit > 0 && (most == 0 || limit < most) {
		most = limit
	}
	return most
}

// subjects returns the watched processes, in PID order.
func (w *Watcher) subjects() []*process {
	var out []*process
	for pid, p := range w.procs {
		if p.seenStep || p.failed || w.mine(pid) && p.samples > 0 {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *process) int { return a.pid - b.pid })
	return out
}

// read updates the reading.
func (w *Watcher) read(e Event) (Reading, bool) {
	r := w.verdict()
	if w.ended {
		r = w.last(r)
	}
	r.T = w.t
	if !w.told || w.settled(r, e) {
		changed := !w.told || r.State != w.now.State
		if changed && w.told {
			w.before = w.now
		}
		w.now, w.told = r, true
		return r, changed
	}
	// The old state is kept until the new one has lasted.
	w.now.T, w.now.Step = r.T, r.Step
	return w.now, false
}

// settled reports whether a verdict counts: at once if it is certain, otherwise after several in a row.
func (w *Watcher) settled(r Reading, e Event) bool {
	if r.State == w.now.State {
		w.next, w.agreed = "", 0
		return true
	}
	if w.now.State == Ended {
		return true
	}
	switch r.State {
	case OutOfMemory, Ended, Evaluating, Leaking:
		return true
	case w.before.State:
		if w.now.State == Evaluating {
			return true
		}
	}
	if e.Kind == KindGPU && w.stepped > 0 && r.State != OtherProcess && r.State != Starved {
		return false // if steps are reported, they decide, not card samples
	}
	if r.State != w.next {
		w.next, w.agreed = r.State, 0
	}
	w.agreed++
	return w.agreed >= quietFor
}

// verdict returns the most urgent reading of the watched processes.
func (w *Watcher) verdict() Reading {
	subjects := w.subjects()
	if len(subjects) == 0 {
		return Reading{State: WarmingUp, Why: "no watched process uses a GPU yet"}
	}
	var worst Reading
	urgency, room := len(States), 0.0
	for _, p := range subjects {
		r := w.judge(p)
		if len(subjects) > 1 {
			r.PID = p.pid
		}
		r.Predicted = w.predicted(p)
		if text := w.advised[r.State]; text != "" {
			r.Advice = text
		}
		i, left := slices.Index(States, r.State), w.left(p)
		if i < urgency || i == urgency && left < room {
			worst, urgency, room = r, i, left
		}
	}
	if len(subjects) > 1 {
		w.compareRanks(&worst)
	}
	return worst
}

// left returns the fraction of its memory that a process has left. Of two processes in the same state, the one with
// less left determines the reading.
func (w *Watcher) left(p *process) float64 {
	capacity := w.capacity(p)
	if capacity == 0 {
		return 1
	}
	held := float64(p.used)
	if p.seenStep {
		_, held = p.highest()
	}
	return 1 - held/capacity
}

// Advise replaces the advice for a state with advice that was computed for this run.
func (w *Watcher) Advise(s State, text string) {
	if w.advised == nil {
		w.advised = map[State]string{}
	}
	w.advised[s] = text
	if w.now.State == s {
		w.now.Advice = text
	}
}

// last returns the reading at the end of a run.
func (w *Watcher) last(r Reading) Reading {
	if r.State == OutOfMemory {
		return r
	}
	out := Reading{Step: r.Step, PID: r.PID, State: Ended, Predicted: r.Predicted, Ranks: r.Ranks}
	out.Why = "the run ended"
	if w.stepped > 0 {
		out.Why += fmt.Sprintf(" after step %d", r.Step)
	}
	was := w.now
	if was.State == Evaluating { // many runs end with an evaluation, which is not informative
		was = w.before
	}
	if was.State != "" && was.State != Ended && was.State != WarmingUp {
		out.Why += fmt.Sprintf("; before that: %s, %s", was.State, was.Why)
		out.Advice = was.Advice
	}
	return out
}

// Total returns the memory of the card as PyTorch sees it; 0 if no process has reported it.
func (w *Watcher) Total() int64 { return w.total }

// Now returns the current reading.
func (w *Watcher) Now() Reading { return w.now }
