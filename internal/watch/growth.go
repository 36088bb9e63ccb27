// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"math"
	"slices"
)

// How a leak is distinguished from everything else that makes memory vary.
//
// A leak adds the same amount again and again, without end. So a window of steps is divided into parts of equal
// length, and each step is compared with the corresponding step of the previous part. With a leak, nearly all of
// these rises are positive and about equal, in every part. Everything else fails this test:
//
//   - Noise: the rises scatter around zero.
//   - One permanent allocation (the average of the weights, the first evaluation): only the comparisons across that
//     step rise. A window of P parts has P-1 parts' worth of comparisons, and one jump affects at most one
//     part's worth of them. Two jumps affect two, so a window of four parts is safe from them; three parts are enough
//     only if the rises are nearly equal as well, as in a staircase of equal steps at equal distances.
//   - Memory that follows the batch: a step is compared only with a later one whose batch is not larger in any
//     dimension. While a curriculum increases lengths, no such pairs exist and there is no verdict; once the lengths
//     have settled, the pairs are among the settled steps.
//     Batches that vary without a trend cannot explain a trend of memory either: then a line through sizes is subtracted, and
//     all points count.
//   - Something that is kept for each shape of batch (a compiled graph): memory does not rise between two batches of a shape
//     if no shape is new in between.
//   - A cache that fills: the rises get smaller from part to part.
//   - Slow waves: the window must end above everything seen before it, and memory must not have fallen by as much as half its rise
//     more than once.
//
// The test is repeated on windows of many lengths, all ending now: short ones detect a fast leak early, long ones
// detect a slow one, and a staircase whose steps are n apart shows in windows of 3n and more.

// point is one step, or one card sample.
type point struct {
	x     float64 // the step, or seconds
	y     float64 // bytes
	shape []int   // shape of the batch; nil if unknown
	size  float64 // elements of the batch
	key   uint64  // identifies the shape
	kinds int     // number of different shapes so far
}

func newPoint(x, y float64, shape []int) point {
	size := 1.0
	for _, d := range shape {
		size *= float64(d)
	}
	return point{x: x, y: y, shape: shape, size: size}
}

// near is the smallest size of a later batch, relative to the earlier one, at which the two are compared.
const near = 0.9

// comparable reports whether a larger batch cannot explain a rise from a to the later b.
func comparable(a, b point) bool {
	if len(a.shape) != len(b.shape) || b.size < near*a.size {
		return false
	}
	for i := range a.shape {
		if b.shape[i] > a.shape[i] {
			return false
		}
	}
	return true
}

// trend is detected growth.
type trend struct {
	slope     float64 // bytes per step, or per second
	low, high float64 // bounds of the slope
	part      float64 // length of a part, in steps or seconds; a staircase may pause this long
	from      float64 // where the window begins
}

// test contains the requirements for a window.
type test struct {
	least   int     // minimum number of points in a window
	floor   float64 // minimum rise over the window, in bytes
	equal   int     // parts of a window if the rises must be about equal
	about   float64 // largest deviation from the median at which a rise counts as about equal, as a fraction of the median
	certain int     // parts of a window if the rises only need to be certain; 0 if they must be equal
	pairs   int     // minimum number of comparable pairs per part
	earlier []point // points before the tested ones
}

// Constants of the test. None of them depends on a run's size or speed.
const (
	leastPoints = 24   // shortest window of steps: 3 parts of 8
	noisyPoints = 36   // shortest window in which rises need not be equal: 4 parts of 9
	fresh       = 0.5  // fraction of a window's rise that must be above everything before it
	agree       = 0.9  // fraction of the rises that must be about equal
	positive    = 0.8  // fraction of the rises in each part that must be positive if they are not equal
	slowest     = 0.4  // minimum rise of a part, relative to the average part
	filled      = 0.5  // rise of the last part, relative to the first, below which something may be filling up
	sameMoment  = 0.75 // fraction of the pairs that may include the same moment
	certainty   = 6.0  // minimum rise of the whole window, in standard errors
	partSigmas  = 2.5  // minimum rise of each part, in standard errors
	grid        = 1.15 // ratio of successive window lengths
)

// find tests the windows that end with the last point and returns the trend of the longest one that passes.
func (t test) find(ps []point) (trend, bool) {
	var best trend
	found := false
	for n := t.least; ; n = int(math.Ceil(float64(n) * grid)) {
		last := n >= len(ps)
		if len(ps) < t.least {
			return trend{}, false
		}
		window := ps[len(ps)-min(n, len(ps)):]
		if got, ok := t.passes(ps, window); ok {
			if !found {
				best.part = got.part
			}
			best = trend{got.slope, got.low, got.high, best.part, got.from}
			found = true
		}
		if last {
			return best, found
		}
	}
}

// passes tests one window.
func (t test) passes(all, window []point) (trend, bool) {
	if !t.rises(window) {
		return trend{}, false
	}
	if r, ok := risesBetween(window, t.equal, t.pairs); ok && r.equal(t.about) && t.lasts(r, all, window) {
		return found(r, window, window)
	}
	if t.certain == 0 || len(window) < noisyPoints {
		return trend{}, false
	}
	if r, ok := risesBetween(window, t.certain, t.pairs); ok && r.certain() && t.lasts(r, all, window) {
		return found(r, window, window)
	}
	if alike := withoutBatches(window); alike != nil {
		if r, ok := risesBetween(alike, t.certain, t.pairs); ok && r.certain() && t.lasts(r, all, window) {
			return found(r, alike, window)
		}
	}
	return trend{}, false
}

// lasts reports whether rises are large, and above what was seen before.
func (t test) lasts(r rises, all, window []point) bool {
	return t.large(r) && t.fresh(r, all, window) && !t.swings(r, all, window)
}

// found returns the trend of points that passed, unless it is over, or new shapes or a few different allocations explain it.
func found(r rises, points, window []point) (trend, bool) {
	got := r.trend(points)
	return got, !newShapesExplain(window, got.slope) && !strayJumps(points) && !stopped(points)
}

// rises reports whether the window ends higher than it begins, by at least as much as a trend above the floor would.
// This quick check spares nearly all windows of a steady run the rest of the test.
func (t test) rises(window []point) bool {
	n := len(window) / 4
	var first, last float64
	for i := range n {
		first, last = first+window[i].y, last+window[len(window)-1-i].y
	}
	return last-first >= float64(n)*t.floor/2
}

// fresh reports whether most of the window's rise is above the memory of all comparable earlier steps.
func (t test) fresh(r rises, all, window []point) bool {
	tail := window[len(window)-max(1, len(window)/4):]
	ys, sizes := make([]float64, len(tail)), make([]float64, len(tail))
	for i, p := range tail {
		ys[i], sizes[i] = p.y, p.size
	}
	now, size := median(ys), median(sizes)
	before := 0.0
	for _, past := range [][]point{t.earlier, all[:len(all)-len(window)]} {
		for _, p := range past {
			if p.size <= size {
				before = max(before, p.y)
			}
		}
	}
	return now-before >= fresh*r.total()
}

// mostFalls is how many times memory may have fallen by half the window's rise before it. Once may be memory that was freed for
// good.
const mostFalls = 1

// swings reports whether memory, for batches of this shape, has repeatedly fallen by half the window's rise before: then it may
// fall again.
func (t test) swings(r rises, all, window []point) bool {
	shape, by := window[len(window)-1].shape, r.total()/2
	falls, falling, extreme := 0, false, math.Inf(-1)
	for _, past := range [][]point{t.earlier, all[:len(all)-len(window)]} {
		for _, p := range past {
			switch {
			case !slices.Equal(p.shape, shape):
			case falling && p.y >= extreme+by:
				falling, extreme = false, p.y
			case falling:
				extreme = min(extreme, p.y)
			case p.y <= extreme-by:
				falls, falling, extreme = falls+1, true, p.y
			default:
				extreme = max(extreme, p.y)
			}
		}
	}
	return falls > mostFalls
}

// rises contains the slopes between comparable points of neighboring parts.
type rises struct {
	parts  [][]float64
	pooled []float64
	spans  []span  // the points of each pair
	middle float64 // median of pooled
	wander float64 // factor on standard errors, for noise that persists from step to step
	length float64 // length of a part, in steps or seconds
}

// risesBetween compares each part with the next. It returns false if too few points are comparable.
func risesBetween(window []point, parts, pairs int) (rises, bool) {
	n := len(window) / parts
	window = window[len(window)-n*parts:]
	r := rises{}
	for i := range parts - 1 {
		spans := pairUp(window[i*n:(i+1)*n], window[(i+1)*n:(i+2)*n])
		if len(spans) < max(pairs, n/4) {
			return rises{}, false
		}
		slopes := make([]float64, len(spans))
		for i, s := range spans {
			slopes[i] = s.slope
		}
		r.parts = append(r.parts, slopes)
		r.pooled = append(r.pooled, slopes...)
		r.spans = append(r.spans, spans...)
	}
	r.middle = median(r.pooled)
	r.wander = wander(window)
	r.length = (window[len(window)-1].x - window[0].x) / float64(parts)
	return r, r.length > 0 && !r.oneMoment()
}

// oneMoment reports whether nearly all pairs include the same moment, so that a single allocation at that moment could explain
// all rises. Corresponding points of three parts include any moment in half of the pairs, but if only points with similar
// batches are paired, it may be all of them.
func (r rises) oneMoment() bool {
	type end struct {
		x    float64
		open int // 1 where a pair begins, -1 where it ends
	}
	var ends []end
	for _, s := range r.spans {
		ends = append(ends, end{s.from, 1}, end{s.to, -1})
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.open, b.open)) })
	open := 0
	for _, e := range ends {
		if open += e.open; float64(open) > sameMoment*float64(len(r.spans)) {
			return true
		}
	}
	return false
}

// span is a pair of comparable points.
type span struct{ from, to, slope float64 }

func between(a, b point) span { return span{a.x, b.x, (b.y - a.y) / (b.x - a.x)} }

// pairUp returns pairs of comparable points of two neighboring parts. Each point is used once. If all points are
// comparable, corresponding points are paired; otherwise points with the most similar batch sizes.
func pairUp(a, b []point) []span {
	var out []span
	alike := true
	for i := range a {
		alike = alike && slices.Equal(a[i].shape, b[i].shape)
	}
	if alike {
		for i := range a {
			if b[i].x > a[i].x {
				out = append(out, between(a[i], b[i]))
			}
		}
		return out
	}
	bySize := func(p, q point) int { return cmp.Compare(q.size, p.size) }
	early, late := slices.Clone(a), slices.Clone(b)
	slices.SortStableFunc(early, bySize)
	slices.SortStableFunc(late, bySize)
	apart := (b[len(b)-1].x - a[0].x) / 4 // half a part: closer pairs show more noise than trend
	used := make([]bool, len(late))
	for _, p := range early {
		for j, q := range late {
			if q.size < near*p.size {
				break
			}
			if !used[j] && q.x-p.x >= apart && comparable(p, q) {
				used[j] = true
				out = append(out, between(p, q))
				break
			}
		}
	}
	return out
}

// large reports whether the whole window rises enough to matter.
func (t test) large(r rises) bool {
	return r.middle > 0 && r.total() >= t.floor
}

// total returns the rise over the whole window.
func (r rises) total() float64 { return r.middle * r.length * float64(len(r.parts)+1) }

// trend returns the growth of a window that has passed: the slope of the line through it, with bounds from the spread
// of the rises.
func (r rises) trend(window []point) trend {
	_, se := r.mean()
	slope := fitted(window)
	if slope <= 0 {
		slope = r.middle
	}
	off := max(2*se, 2*slope*strays(window, slope))
	newer := fitted(window[len(window)/2:]) // the growth may have begun, or changed, within the window
	return trend{slope: slope, low: max(min(slope-off, newer), slope/4), high: max(slope+off, newer), part: r.length, from: window[0].x}
}

// strays returns how far the points deviate from a line of this slope, as a fraction of the line's rise. Even growth is
// expected to continue; uneven growth, because steps leak different amounts or because it began within the window, may
// deviate as far again.
func strays(window []point, slope float64) float64 {
	var rests []float64
	for _, p := range window {
		rests = append(rests, p.y-slope*p.x)
	}
	middle := median(slices.Clone(rests))
	most := 0.0
	for _, y := range rests {
		most = max(most, math.Abs(y-middle))
	}
	rise := slope * (window[len(window)-1].x - window[0].x)
	if rise <= 0 {
		return 0
	}
	return most / rise
}

// fitted returns the slope of the least-squares line through points.
func fitted(ps []point) float64 {
	var mx, my float64
	n := float64(len(ps))
	for _, p := range ps {
		mx, my = mx+p.x/n, my+p.y/n
	}
	var xx, xy float64
	for _, p := range ps {
		xx += (p.x - mx) * (p.x - mx)
		xy += (p.x - mx) * (p.y - my)
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}

// equal reports whether nearly all rises are about equal in each part.
func (r rises) equal(about float64) bool {
	within := 0
	for _, s := range r.pooled {
		if math.Abs(s-r.middle) <= about*r.middle {
			within++
		}
	}
	if float64(within) < agree*float64(len(r.pooled)) {
		return false
	}
	for _, part := range r.parts {
		if math.Abs(median(slices.Clone(part))-r.middle) > about*r.middle {
			return false
		}
	}
	return true
}

// certain reports whether each part rises significantly, and none much less than the others.
func (r rises) certain() bool {
	mean, se := r.mean()
	if mean < certainty*se {
		return false
	}
	if r.fills() {
		return false
	}
	for _, part := range r.parts {
		up := 0
		for _, s := range part {
			if s > 0 {
				up++
			}
		}
		m, e := r.meanOf(part)
		if float64(up) < positive*float64(len(part)) || m < slowest*mean || m < partSigmas*e {
			return false
		}
	}
	return true
}

// fills reports whether each part rises less than the one before it, and the last one significantly less than the first.
func (r rises) fills() bool {
	first, e := r.meanOf(r.parts[0])
	before := first
	for _, part := range r.parts[1:] {
		m, _ := r.meanOf(part)
		if m >= before {
			return false
		}
		before = m
	}
	last, f := r.meanOf(r.parts[len(r.parts)-1])
	return last < filled*first && first-last > 2*math.Hypot(e, f)
}

// mean returns the average slope over the parts, and its standard error.
func (r rises) mean() (mean, se float64) {
	var variance float64
	for _, part := range r.parts {
		m, e := r.meanOf(part)
		mean += m / float64(len(r.parts))
		variance += e * e
	}
	return mean, math.Sqrt(variance) / float64(len(r.parts))
}

// meanOf returns a part's mean and its standard error.
func (r rises) meanOf(s []float64) (mean, se float64) {
	n := float64(len(s))
	for _, v := range s {
		mean += v / n
	}
	var squares float64
	for _, v := range s {
		squares += (v - mean) * (v - mean)
	}
	return mean, r.wander * math.Sqrt(squares/n/(n-1))
}

// falls is the largest fraction of steps with less memory than the previous step in a series considered to climb.
const falls = 0.25

// wander returns the factor by which standard errors grow because neighboring points are not independent: noise that
// persists wanders, and for a while looks like a trend. But it falls as often as it rises. A series that hardly ever
// falls is not noise, however strongly its points are correlated.
func wander(window []point) float64 {
	down := 0
	for i := 1; i < len(window); i++ {
		if window[i].y < window[i-1].y {
			down++
		}
	}
	if float64(down) < falls*float64(len(window)) {
		return 1
	}
	slope := fitted(window)
	var own, next, last float64
	mean := 0.0
	for _, p := range window {
		mean += (p.y - slope*p.x) / float64(len(window))
	}
	for i, p := range window {
		rest := p.y - slope*p.x - mean
		own += rest * rest
		if i > 0 {
			next += rest * last
		}
		last = rest
	}
	if own == 0 {
		return 1
	}
	correlation := next / own
	correlation += (1 + 4*correlation) / float64(len(window)) // the estimate is biased low
	correlation = min(max(correlation, 0), 0.95)
	return math.Sqrt((1 + correlation) / (1 - correlation))
}

// median returns the median of s, which it sorts.
func median(s []float64) float64 {
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
