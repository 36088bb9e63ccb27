// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math"
	"slices"
)

// A window of few jumps looks like a line to a test of three or four parts if the jumps happen to lie in different parts. It is a leak
// if the same thing is kept again and again, such as a copy of the weights every twenty steps. Then the jumps are equally large,
// come at equal distances, and the next one is not overdue. Different things that are allocated for good, such as
// an average of the weights and later the state of a metric, are neither.

// Requirements for a window to consist of jumps, and for them to be a leak.
const (
	fewJumps    = 3    // with more jumps, the parts of a window show whether they go on
	flat        = 0.1  // most that memory may rise between the jumps, as a fraction of the whole rise
	alikeSizes  = 0.02 // largest deviation of two jumps from their mean, as a fraction of it
	alikeBreaks = 0.25 // largest deviation of the distances between jumps, and of the time since the last one, as a fraction of their mean
)

// strayJumps reports whether the window's rise consists of few jumps that are not regular.
func strayJumps(window []point) bool {
	s, ok := stairsOf(window)
	return ok && !s.regular(window[len(window)-1].x)
}

// stairs are the jumps of a window that is flat between them.
type stairs struct {
	at    []float64 // where each jump is
	sizes []float64 // how much it adds
	noise float64   // how far a size may be off, because memory between the jumps is noisy
}

// stairsOf returns the jumps of a window; ok is false if it is no staircase, or one of many jumps.
func stairsOf(window []point) (s stairs, ok bool) {
	largest := 0.0
	for i := 1; i < len(window); i++ {
		largest = max(largest, window[i].y-window[i-1].y)
	}
	least := largest / 4
	first, between := 0, 0.0
	var levels []float64
	level := func(part []point) {
		middle, noise := levelOf(part)
		levels, s.noise = append(levels, middle), max(s.noise, noise)
		between += rest(part)
	}
	for i := 1; i < len(window); i++ {
		by := window[i].y - window[i-1].y
		if by <= -least || !slices.Equal(window[i].shape, window[0].shape) {
			return stairs{}, false // this is how memory varies
		}
		if by <= least {
			continue
		}
		level(window[first:i])
		s.at, first = append(s.at, window[i].x), i
		if len(s.at) > fewJumps {
			return stairs{}, false
		}
	}
	level(window[first:])
	for i := 1; i < len(levels); i++ {
		s.sizes = append(s.sizes, levels[i]-levels[i-1])
	}
	total := levels[len(levels)-1] - levels[0]
	return s, largest > 0 && total > 0 && math.Abs(between) <= flat*(total+between)
}

// levelOf returns the median of points, and how far it may be off.
func levelOf(ps []point) (middle, noise float64) {
	var ys, off []float64
	for _, p := range ps {
		ys = append(ys, p.y)
	}
	middle = median(ys)
	for _, y := range ys {
		off = append(off, math.Abs(y-middle))
	}
	return middle, 4 * median(off) / math.Sqrt(float64(len(ps)))
}

// rest returns how much the second half of the points is above the first, times two: the rise of a line through them.
func rest(ps []point) float64 {
	if len(ps) < 4 {
		return 0
	}
	half := len(ps) / 2
	early, _ := levelOf(ps[:half])
	late, _ := levelOf(ps[half:])
	return 2 * (late - early)
}

// regular reports whether the jumps are equal, come at equal distances, and the next one is not overdue.
func (s stairs) regular(now float64) bool {
	n := len(s.at)
	if n < 2 {
		return false
	}
	size := 0.0
	for _, x := range s.sizes {
		size += x / float64(n)
	}
	for _, x := range s.sizes {
		if math.Abs(x-size) > alikeSizes*size+s.noise {
			return false
		}
	}
	each := (s.at[n-1] - s.at[0]) / float64(n-1)
	for i := 1; i < n; i++ {
		if math.Abs(s.at[i]-s.at[i-1]-each) > alikeBreaks*each {
			return false
		}
	}
	return now-s.at[n-1] <= (1+alikeBreaks)*each
}

// shortPause is the number of points without a new high that never means that a trend is over.
const shortPause = 8

// stopped reports whether memory has not reached a new high for longer than it ever paused in the window, so that what grew is
// probably complete: a buffer of the last hundred losses, for example.
func stopped(window []point) bool {
	high, last, longest := window[0].y, 0, 0
	for i, p := range window {
		if !slices.Equal(p.shape, window[0].shape) {
			return false // highs depend on the batches
		}
		if p.y > high {
			high, last, longest = p.y, i, max(longest, i-last)
		}
	}
	return float64(len(window)-1-last) > (1+alikeBreaks)*float64(longest)+shortPause
}
