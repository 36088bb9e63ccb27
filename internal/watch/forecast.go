// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"math"
	"slices"
)

// A step fails when persistent memory plus what the step needs above it exceeds what PyTorch can reserve. Persistent
// memory grows along the trend; what steps need is known from the recent ones, and varies with their batches. So the
// probability that step k from now fails is the fraction of recent steps that would not have fitted into the room
// left by then, and these probabilities add up:
//
//	risk(k) = sum over j <= k of the fraction of recent steps that do not fit at j
//
// The run survives k steps with probability exp(-risk(k)). The middle of the forecast is where that is 50 %; its ends
// are where it is 95 and 5 %, widened by the bounds of the slope.
var (
	riskLow    = -math.Log(0.95)
	riskMiddle = -math.Log(0.5)
	riskHigh   = -math.Log(0.05)
)

// segment is the size of a PyTorch segment. If less than this is left, PyTorch cannot use it.
const segment = 20 << 20

// forecast adds to the reading when memory will run out.
func (w *Watcher) forecast(p *process, r *Reading) {
	capacity := w.capacity(p)
	if capacity == 0 || p.leak.slope <= 0 {
		return
	}
	level, needs := p.levels()
	room := capacity - level
	at := func(room, slope, risk float64) float64 {
		steps := stepsUntil(room, slope, needs, risk)
		if p.evalPeak > 0 {
			steps = min(steps, max(0, room-p.evalPeak)/slope)
		}
		return steps
	}
	typical, most := p.wasted()
	middle := at(room-typical, p.leak.slope, riskMiddle)
	pause := p.leak.part // memory that grows in stairs runs out at a stair, and the newest one may have just begun
	least := room - max(p.unused(), most) - segment - w.unknownOutside(p)
	low, high := min(at(least, p.leak.high, riskLow), middle-pause), max(at(room, p.leak.low, riskHigh), middle+pause)
	if p.evalPeak > 0 {
		high += float64(p.evalEvery) // an evaluation that lacks memory fails only when it runs
	}
	if soonest, likely, ok := p.untilFull(capacity); ok {
		low, middle = min(low, soonest), min(middle, likely)
	}
	if soonest, likely, ok := p.untilPeak(capacity); ok {
		low, middle = min(low, soonest), min(middle, likely)
	}
	low, high = widened(low, middle, high, p.margin(middle))
	r.StepsToOOM = &[3]int{whole(low), whole(middle), whole(high)}
	if s := p.stepSeconds(); s > 0 {
		r.SecondsToOOM = &[3]float64{round(max(low, 0) * s), round(middle * s), round(high * s)}
	}
}

// A forecast is widened on both sides by this fraction of the remaining steps plus this number of steps. With these values,
// 95 % of the intervals of each recorded leak contain the step at which memory ran out, even if the values are chosen
// without that leak.
const (
	spareShare = 0.03
	spareSteps = 2
)

// margin returns the fraction by which a forecast is widened. The leak per step may vary: its mean is known only from the steps so
// far, and the remaining steps may deviate from it.
func (p *process) margin(left float64) float64 {
	seen := min(kept, max(1, float64(p.step)-p.leak.from))
	return spareShare + 2*p.varies()*(1/math.Sqrt(seen)+1/math.Sqrt(max(left, 1)))
}

// varies returns the standard deviation of what a step leaks, relative to its mean. If batches vary, it is that of their sizes.
func (p *process) varies() float64 {
	if !p.shapes(recentSteps).varies {
		return p.staggers() / p.leak.slope
	}
	recent := p.recentPeaks(kept)
	mean, squares := 0.0, 0.0
	for _, x := range recent {
		mean += x.size / float64(len(recent))
	}
	for _, x := range recent {
		squares += (x.size - mean) * (x.size - mean) / float64(len(recent))
	}
	if mean <= 0 {
		return 0
	}
	return math.Sqrt(squares) / mean
}

// staggers returns the standard deviation of what a step leaks. Steps that leak by chance make memory stray from its line, and more
// so the more steps there are. Noise and regular stairs do not: the squared difference between two points is then the same
// at any distance. So what a step adds to it is the difference between two distances.
func (p *process) staggers() float64 {
	var rests []float64
	for _, x := range p.steps.last(kept) {
		if x.x >= p.leak.from {
			rests = append(rests, x.y-p.leak.slope*x.x)
		}
	}
	apart := len(rests) / 8
	if apart == 0 {
		return 0
	}
	strayed := func(apart int) (mean float64) {
		for i := apart; i < len(rests); i++ {
			mean += (rests[i] - rests[i-apart]) * (rests[i] - rests[i-apart]) / float64(len(rests)-apart)
		}
		return mean
	}
	return math.Sqrt(max(0, strayed(2*apart)-strayed(apart)) / float64(apart))
}

// widened returns an interval with a margin on both sides.
func widened(low, middle, high, share float64) (float64, float64) {
	return min(low, middle)*(1-min(share, 0.9)) - spareSteps, max(high, middle)*(1+share) + spareSteps
}

// unused returns the reserved memory that not even the largest recent step used. If it is in pieces too small for later
// tensors, memory runs out sooner: the low end of the forecast assumes that it is, the middle that it is not.
func (p *process) unused() float64 {
	least := math.Inf(1)
	for _, x := range p.recentPeaks(recentSteps) {
		if !x.afterEval {
			least = min(least, x.reserved-x.peak)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return max(0, least)
}

// wasted returns how much memory was unused when PyTorch reserved more: the median and the maximum of the last few times. It
// was in pieces too small for what the step needed, so the middle of the forecast assumes that it stays unused.
func (p *process) wasted() (typical, most float64) {
	var during []float64
	for _, g := range p.growths {
		if float64(g.step) >= p.leak.from {
			during = append(during, g.waste)
		}
	}
	if len(during) == 0 {
		return 0, 0
	}
	during = during[max(0, len(during)-recentGrowths):]
	return median(during), slices.Max(during)
}

// unknownOutside returns the memory that a process may use besides PyTorch's, if nothing tells how much it is.
func (w *Watcher) unknownOutside(p *process) float64 {
	if p.limit > 0 || w.card(p) != nil {
		return 0
	}
	return mostOutside
}

// untilFull returns the number of steps after which PyTorch will have reserved all it can get. Tensors that are never freed can
// split the cache: each occupies a piece of a block that a later step would have used whole, so PyTorch reserves
// another block and cannot release the first one. Memory then runs out although much of it is not allocated. Only
// growth as even as a leak counts, and only if all batches have the same shape: other growth is cache that will be
// released.
func (p *process) untilFull(capacity float64) (soonest, likely float64, ok bool) {
	if !p.filling || p.fills.slope <= p.leak.slope || len(p.peaks) == 0 {
		return 0, 0, false
	}
	room := capacity - p.peaks[len(p.peaks)-1].reserved
	if room <= 0 {
		return 0, 0, false
	}
	jump := 0.0 // the cache grows by whole segments, the last of which does not fit
	recent := p.recentPeaks(recentSteps)
	for i := 1; i < len(recent); i++ {
		jump = max(jump, recent[i].reserved-recent[i-1].reserved)
	}
	return max(0, room-jump) / p.fills.high, room / p.fills.slope, true
}

// steeper is how much faster peaks must grow than persistent memory to count as growing by themselves.
const steeper = 1.15

// untilPeak returns the number of steps after which a step's peak will not fit, if peaks grow evenly and faster than what stays
// allocated. A step that joins new tensors to those it has kept (torch.cat) needs the old and the new result at the same time.
func (p *process) untilPeak(capacity float64) (soonest, likely float64, ok bool) {
	var window []point
	for _, x := range p.recentPeaks(recentSteps) {
		if !x.afterEval {
			window = append(window, point{x: float64(x.step), y: x.peak})
		}
	}
	for _, n := range []int{leastPoints, leastPoints / 2} {
		newest := window[max(0, len(window)-n):]
		r, enough := risesBetween(newest, 3, n/4)
		if !enough || r.middle < steeper*p.leak.slope || !r.equal(0.15) {
			continue
		}
		room, grows := max(0, capacity-newest[len(newest)-1].y), r.trend(newest)
		return room / grows.high, room / grows.slope, true
	}
	return 0, 0, false
}

// need is what a step needs above persistent memory.
type need struct {
	above float64
	often float64 // fraction of the steps that need this
}

// levels returns the current persistent memory, according to the trend of the last steps, and what steps need above it: the recent
// ones, and rare ones before them.
func (p *process) levels() (level float64, needs []need) {
	recent := p.recentPeaks(kept)
	var stays []float64
	begins := 0.0
	since := func(x stepPeak) float64 { return p.leak.slope * (float64(p.step) - max(float64(x.step), begins)) }
	for _, x := range recent[max(0, len(recent)-recentSteps/2):] {
		stays = append(stays, x.allocated+since(x))
	}
	level = median(stays)
	begins = p.began(recent, level)
	most := 0.0
	for _, x := range recent {
		needs = append(needs, need{max(0, x.peak+since(x)-level), 1 / float64(len(recent))})
		most = max(most, needs[len(needs)-1].above)
	}
	for _, x := range p.rare.before(recent) {
		if above := x.peak + since(x) - level; above > most {
			needs = append(needs, need{above, 1 / float64(p.rare.count)})
		}
	}
	return level, needs
}

// began returns the step at which the growth began, computed from its size and slope. Peaks of earlier steps do not
// include it.
func (p *process) began(recent []stepPeak, level float64) float64 {
	var first []float64
	for _, x := range recent[:min(len(recent), recentSteps/4)] {
		first = append(first, x.allocated)
	}
	return float64(p.step) - max(0, level-median(first))/p.leak.slope - float64(len(first))
}

// stepsUntil returns the number of steps after which the risk is reached. Each step adds to the risk once it would no longer fit.
func stepsUntil(room, slope float64, needs []need, risk float64) float64 {
	if len(needs) == 0 {
		return max(0, room) / slope
	}
	needs = slices.Clone(needs)
	slices.SortFunc(needs, func(a, b need) int { return cmp.Compare(b.above, a.above) })
	begins := func(i int) float64 { return max(0, (room-needs[i].above)/slope) }
	often, sum := 0.0, 0.0
	for i, x := range needs {
		often, sum = often+x.often, sum+x.often*begins(i)
		// With the first i+1 needs, risk(k) = often*k - sum.
		k := (risk + sum) / often
		if i+1 == len(needs) || k <= begins(i+1) {
			return k
		}
	}
	return 0
}

// forecastMemory adds to the reading when memory will run out, according to the driver.
func (w *Watcher) forecastMemory(p *process, capacity float64, r *Reading) {
	room := max(0, capacity-float64(p.used))
	if p.leak.slope <= 0 {
		return
	}
	r.SecondsToOOM = &[3]float64{round(room / p.leak.high), round(room / p.leak.slope), round(room / p.leak.low)}
}

func whole(steps float64) int { return int(math.Round(max(0, min(steps, math.MaxInt32)))) }

// round rounds to a tenth of a second.
func round(seconds float64) float64 { return math.Round(seconds*10) / 10 }
