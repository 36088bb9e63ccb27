// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math"
	"slices"
)

// The number of steps or samples that decide a state.
const (
	firstSteps  = 2  // steps that are not compared: the first one allocates the optimizer states
	earlySteps  = 5  // before this, it is too early to tell
	slowStart   = 30 // growing memory counts as warm-up for at most this many steps
	recentSteps = 64 // steps that count as recent
	quietFor    = 3  // consecutive steps or samples that must agree before a state changes
)

// process is what is known about one process.
type process struct {
	pid     int
	gpu     Device
	limit   int64
	total   int64   // memory of its card, as PyTorch sees it; 0 if it has not reported it
	steps   history // allocated bytes at the end of training steps
	peaks   []stepPeak
	cache   history // peak reserved bytes of training steps
	kinds   kinds   // shapes of training steps
	trained int     // training steps seen
	steady  bool    // in at least one step after the first, memory did not rise
	step    int     // number of the newest step
	stepT   float64
	seconds []float64 // times between recent training steps
	waits   []float64 // times spent waiting for data in recent training steps
	curve   curve[StepPoint]

	rare    rare     // steps that needed the most
	growths []growth // the last times that PyTorch reserved more
	outside outside  // memory that PyTorch does not count

	evaluating bool
	evaluation evaluation // the running or newest evaluation
	evalPeak   float64    // most that an evaluation used above persistent memory
	evalLarger bool       // the newest evaluation used more than all before it
	evalAdded  float64    // reserved memory that such evaluations added
	trainPeak  float64    // most that recent training steps used above persistent memory

	last     Step
	used     int64   // bytes in use, according to the driver
	memory   history // values of used over time
	samples  int     // number of samples from the driver
	holds    float64 // when it first used memory, in seconds
	context  int64   // bytes used before PyTorch reserved anything
	warm     bool    // for a process without steps: it has been steady at least once
	fell     bool    // used has fallen substantially
	dropped  float64 // when used last fell substantially
	seenStep bool

	unreserved bool // steps do not report reserved memory

	oom      string // the message of a failure
	oomSteps int    // training steps since that failure
	failed   bool

	leak     trend
	leaks    bool
	leakUpTo float64 // the leak is reported until this step, or this second, without new evidence
	fills    trend   // during a leak, the growth of reserved memory
	filling  bool    // fills is valid
	present  bool    // the newest sample lists it on the card
	gone     bool

	want         Peak       // the prediction for the newest step
	deviation    *Deviation // the first step that differs from the prediction
	evaluated    bool
	evalStep     int     // the training step before the newest evaluation
	evalEvery    int     // training steps between the last two evaluations
	evalReserved float64 // most reserved memory in an evaluation
	most         Peak    // highest peak of the compared training steps
	mostEver     Peak    // highest peak of all steps, including evaluations
	fewer        int     // consecutive steps that took less than predicted
	heldFirst    float64 // memory that stayed allocated after the first steps
	heldAt       int     // number of the last of these steps
	leaked       bool    // the process has leaked

	rank  *int             // rank in a run on several GPUs; nil if unknown
	world int              // number of ranks in that run
	held  map[Device]int64 // bytes on each card, according to the driver
}

// stepPeak is the memory of a recent training step.
type stepPeak struct {
	size            float64
	allocated, peak float64
	reserved        float64
	retries         int
	step            int
	shapeOK         bool
	afterEval       bool // follows an evaluation: the peak may be the evaluation's, and so may cache growth
}

// addStep adds a step and compares it with the prediction, if there is one.
func (p *process) addStep(t float64, s Step, x *Expected) {
	p.seenStep = true
	p.outside.addStep(s)
	if p.unreserved = s.Reserved == 0; p.unreserved && p.context > 0 {
		s.Reserved = max(0, p.used-min(p.context, mostOutside)) // according to the driver
	}
	s = s.completed()
	above := float64(s.PeakAllocated - s.Allocated)
	p.mostEver = highestOf(p.mostEver, Peak{float64(s.PeakAllocated), float64(s.PeakReserved)})
	if s.Phase == Eval {
		if !p.evaluating && p.evaluated {
			p.evalEvery = s.N - p.evalStep
		}
		if !p.evaluating {
			p.evaluation = evaluation{}
		}
		p.evaluation.add(float64(s.Allocated))
		p.evaluating, p.evaluated, p.evalStep = true, true, s.N
		p.expect(s, x)
		if above := float64(s.PeakAllocated) - p.staying(); above > p.evalPeak {
			p.evalLarger = p.evalLarger || above > 1.01*p.evalPeak
			p.evalPeak = above
		}
		p.last = s
		return
	}
	afterEval := p.evaluating
	p.evaluating = false
	p.countStep(t, s)
	p.expect(s, x)
	p.last = s
	if p.trained <= firstSteps {
		p.heldFirst, p.heldAt = float64(s.Allocated), s.N
		return
	}
	if afterEval {
		above = p.trainPeak // the reported peak is the evaluation's
	}
	at := newPoint(float64(s.N), float64(s.Allocated), s.Shape)
	at.key, at.kinds = p.kinds.add(s.Shape)
	p.steps.add(at)
	if afterEval && p.evalLarger { // the next evaluation reuses what this one added
		p.evalAdded += max(0, float64(s.PeakReserved)-p.newestReserved())
	}
	p.cache.add(newPoint(at.x, float64(s.PeakReserved)-p.evalAdded, s.Shape))
	p.peaks = append(p.peaks, stepPeak{size: at.size, allocated: at.y, peak: at.y + above, reserved: float64(s.PeakReserved), retries: s.Retries, step: s.N, shapeOK: len(s.Shape) > 0, afterEval: afterEval})
	p.rare.add(p.peaks[len(p.peaks)-1])
	if len(p.peaks) > 2*kept {
		p.peaks = append(p.peaks[:0], p.peaks[kept:]...)
	}
	p.steady = p.steady || p.trained >= earlySteps && !p.growing()
	p.trainPeak = 0
	for _, x := range p.recentPeaks(kept) {
		p.trainPeak = max(p.trainPeak, x.peak-x.allocated)
	}
	p.addGrowth()
	p.evalLarger = false
}

// completed returns the step with the least that fields that are not reported can be: what is allocated is reserved too, and a
// peak is not below the end of the step.
func (s Step) completed() Step {
	if s.Reserved == 0 {
		s.Reserved = s.Allocated
	}
	s.PeakAllocated = max(s.PeakAllocated, s.Allocated)
	if s.PeakReserved == 0 {
		s.PeakReserved = s.PeakAllocated
	}
	s.PeakReserved = max(s.PeakReserved, s.Reserved)
	return s
}

func (p *process) newestReserved() float64 {
	if len(p.peaks) == 0 {
		return 0
	}
	return p.peaks[len(p.peaks)-1].reserved
}

// growth is a step in which PyTorch reserved more memory.
type growth struct {
	step  int
	waste float64 // memory that was reserved, and that not even the largest recent step would have used
}

// The number of growths that are kept, and of those that the forecast uses.
const (
	mostGrowths   = 32
	recentGrowths = 5
)

// addGrowth records how much memory was unused when PyTorch reserved more in the newest step, or flushed its cache. An evaluation
// before it counts unless it needed more memory than all before it.
func (p *process) addGrowth() {
	n := len(p.peaks)
	if n < 2 || p.evalLarger {
		return
	}
	x, before := p.peaks[n-1], p.peaks[n-2]
	flushed := x.retries > before.retries
	if flushed {
		p.growths = p.growths[:0] // it released what no tensor occupied
	}
	if flushed || x.reserved > before.reserved {
		p.growths = append(p.growths, growth{x.step, max(0, x.reserved-max(x.peak, x.allocated+max(p.trainPeak, p.evalPeak)))})
	}
	if len(p.growths) > 2*mostGrowths {
		p.growths = append(p.growths[:0], p.growths[mostGrowths:]...)
	}
}

// expect compares a step with the prediction and adds both to the curve.
func (p *process) expect(s Step, x *Expected) {
	p.want = Peak{}
	if x != nil {
		p.want, _ = x.step(p, s)
		p.compare(x, s)
	}
	p.curve.add(StepPoint{s.N, float64(s.Allocated), float64(s.PeakAllocated), float64(s.PeakReserved), p.want})
}

// countStep stores the step's number and the time since the previous one.
func (p *process) countStep(t float64, s Step) {
	if s.N <= p.step && p.trained > 0 {
		p.restart()
	}
	if dt, dn := t-p.stepT, s.N-p.step; p.trained > 0 && dt > 0 && dn > 0 {
		p.seconds = append(p.seconds, dt/float64(dn))
		if len(p.seconds) > 2*recentSteps {
			p.seconds = append(p.seconds[:0], p.seconds[recentSteps:]...)
		}
	}
	if s.Wait != nil {
		p.waits = append(p.waits, *s.Wait)
		if len(p.waits) > 2*recentSteps {
			p.waits = append(p.waits[:0], p.waits[recentSteps:]...)
		}
	}
	p.trained++
	if p.failed {
		p.oomSteps++
	}
	p.step, p.stepT = s.N, t
}

// restart forgets the steps, because their numbering started again, as in the next trial of a search.
func (p *process) restart() {
	p.steps, p.cache, p.peaks, p.trained, p.leaks, p.seconds, p.curve.points = history{}, history{}, nil, 0, false, nil, nil
	p.growths, p.evalPeak, p.evalAdded, p.trainPeak, p.steady, p.outside, p.rare = nil, 0, 0, 0, false, outside{}, rare{}
}

// staying returns the memory that stays allocated between steps.
func (p *process) staying() float64 {
	if n := len(p.peaks); n > 0 {
		return p.peaks[n-1].allocated
	}
	return float64(p.last.Allocated)
}

func (p *process) recentPeaks(n int) []stepPeak { return p.peaks[max(0, len(p.peaks)-n):] }

// on records the memory that the process holds on a card, and reports whether that is its main card, on which it holds
// most. In a run on several GPUs, every process may also have a context on the first card.
func (p *process) on(card Device, used int64) bool {
	if p.held == nil {
		p.held = map[Device]int64{}
	}
	p.held[card] = used
	for other, n := range p.held {
		if n > used || n == used && other.before(card) {
			return false
		}
	}
	p.gpu = card
	return true
}

// leastContext is less than the size of any CUDA context.
const leastContext = 256 << 20

// addUsed adds the process's memory use, according to the driver.
func (p *process) addUsed(t float64, used int64) {
	p.present, p.gone = true, false
	if p.samples == 0 {
		p.holds = t
	}
	if p.context == 0 && used > leastContext {
		p.context = used
	}
	if p.used-used > p.used/20 {
		p.fell, p.dropped = true, t
	}
	p.samples++
	p.used = used
	p.outside.addSample(used)
	p.memory.add(newPoint(t, float64(used), nil))
}

// look searches for a leak, given the memory that the card can offer this process. A long history is searched only
// now and then, because one more step hardly changes it.
func (p *process) look(capacity float64) {
	if every := len(p.steps.last(kept)) / 32; every > 1 && p.trained%every != 0 {
		return
	}
	floor := 0.004 * capacity
	if capacity == 0 && len(p.peaks) > 0 {
		floor = 0.02 * p.peaks[0].allocated
	}
	t := test{least: leastPoints, floor: floor, equal: 3, about: 0.15, certain: 4, pairs: 6}
	got, ok := p.steps.find(t)
	if !ok {
		got, ok = p.findFast(t, capacity)
	}
	if ok {
		p.leak, p.leaks, p.leaked = got, true, true
		p.deviation.grew(got)
		p.leakUpTo = float64(p.step) + max(got.part, 16)
	}
	if p.leaks && float64(p.step) > p.leakUpTo {
		p.leaks = false
	}
	p.filling = false
	if p.leaks && !p.shapes(recentSteps).varies {
		p.fills, p.filling = p.cache.find(t)
	}
}

// fastPoints is the shortest window for a leak that leaves no time for a longer one: 3 parts of 3.
const fastPoints = 9

// findFast searches the first steps for a leak so fast that memory would run out about when there are enough steps for the usual test.
func (p *process) findFast(t test, capacity float64) (trend, bool) {
	n := len(p.peaks)
	if n < fastPoints || n >= leastPoints || capacity == 0 {
		return trend{}, false
	}
	t.least, t.pairs, t.certain = fastPoints, 3, 0
	got, ok := p.steps.find(t)
	return got, ok && capacity-p.peaks[n-1].peak < leastPoints*got.slope
}

// stepSeconds returns the typical time of a recent step.
func (p *process) stepSeconds() float64 {
	return median(slices.Clone(p.seconds[max(0, len(p.seconds)-recentSteps):]))
}

// waitShare returns the fraction of recent steps spent waiting for data; 0 if that is not reported.
func (p *process) waitShare() float64 {
	step := p.stepSeconds()
	if len(p.waits) == 0 || step == 0 {
		return 0
	}
	return min(1, median(slices.Clone(p.waits[max(0, len(p.waits)-recentSteps):]))/step)
}

// highest returns the most that recent steps allocated and reserved. It includes the peak of evaluations, because
// there will be more of them.
func (p *process) highest() (allocated, reserved float64) {
	for _, x := range p.recentPeaks(kept) {
		allocated = max(allocated, x.peak)
	}
	for _, x := range p.recentPeaks(recentSteps) {
		reserved = max(reserved, x.reserved)
	}
	if len(p.peaks) == 0 {
		return float64(p.last.PeakAllocated), float64(p.last.PeakReserved)
	}
	return max(allocated, p.staying()+p.evalPeak), max(reserved, float64(p.last.PeakReserved))
}

// growing reports whether the memory of the last steps is still increasing, by more than 1 %.
func (p *process) growing() bool {
	recent := p.recentPeaks(4)
	if len(recent) < 4 {
		return true
	}
	for i := 1; i < len(recent); i++ {
		if recent[i].peak <= recent[i-1].peak {
			return false
		}
	}
	return recent[3].peak > 1.002*recent[0].peak
}

// retried returns the number of the last n steps in which the allocator flushed its cache.
func (p *process) retried(n int) int {
	count := 0
	recent := p.recentPeaks(n)
	for i := 1; i < len(recent); i++ {
		if recent[i].retries > recent[i-1].retries {
			count++
		}
	}
	return count
}

// shapeSteps is the number of steps needed to tell whether memory follows the batch.
const shapeSteps = 8

// shapesUnclear reports whether batches differ, but in too few steps to tell whether memory follows them.
func (p *process) shapesUnclear() bool {
	if len(p.peaks) >= shapeSteps {
		return false
	}
	for _, x := range p.peaks {
		if x.shapeOK && x.size != p.peaks[0].size {
			return true
		}
	}
	return false
}

// shapes describes how batches and memory vary together in the recent steps.
type shapes struct {
	steps       int     // number of steps examined
	varies      bool    // a fifth or more of the batches differ in size from the most common
	correlation float64 // correlation between batch size and memory of a step
	low, high   float64 // smallest and largest batch size
	lowPeak     float64 // smallest peak of a step
	highPeak    float64 // largest peak of a step
	spread      float64 // highPeak - lowPeak, as a fraction of highPeak
	grows       bool    // each batch is at least as large as the previous one
}

// shapes examines the last n steps.
func (p *process) shapes(n int) shapes {
	recent := slices.DeleteFunc(slices.Clone(p.recentPeaks(n)), func(x stepPeak) bool { return x.afterEval })
	if len(recent) < shapeSteps {
		return shapes{}
	}
	sizes := map[float64]int{}
	common := 0
	out := shapes{steps: len(recent), low: math.Inf(1), lowPeak: math.Inf(1), grows: true}
	var xs, ys []float64
	for i, x := range recent {
		if !x.shapeOK {
			return shapes{}
		}
		sizes[x.size]++
		common = max(common, sizes[x.size])
		out.low, out.high = min(out.low, x.size), max(out.high, x.size)
		out.lowPeak, out.highPeak = min(out.lowPeak, x.peak), max(out.highPeak, x.peak)
		out.grows = out.grows && (i == 0 || x.size >= recent[i-1].size)
		xs, ys = append(xs, x.size), append(ys, x.peak)
	}
	out.varies = float64(len(recent)-common) >= 0.2*float64(len(recent)) && out.high > 1.02*out.low
	out.correlation = correlation(xs, ys)
	if out.highPeak > 0 {
		out.spread = (out.highPeak - out.lowPeak) / out.highPeak
	}
	return out
}

// correlation returns Pearson's correlation coefficient.
func correlation(xs, ys []float64) float64 {
	mx, my := 0.0, 0.0
	n := float64(len(xs))
	for i := range xs {
		mx, my = mx+xs[i]/n, my+ys[i]/n
	}
	var xx, yy, xy float64
	for i := range xs {
		a, b := xs[i]-mx, ys[i]-my
		xx, yy, xy = xx+a*a, yy+b*b, xy+a*b
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}
