// SPDX-License-Identifier: Apache-2.0

package watch

// kept is the minimum number of recent points that a full history keeps, and the maximum number of points for the
// whole run.
const kept = 256

// history keeps the recent points in full, and every n-th point of the whole run, so that it uses the same memory
// after a week as after a minute.
type history struct {
	recent []point
	thin   []point
	every  int // distance between the points in thin
	count  int // points so far
}

func (h *history) add(p point) {
	if len(h.recent) >= 2*kept {
		h.recent = append(h.recent[:0], h.recent[kept:]...)
	}
	h.recent = append(h.recent, p)
	if h.every == 0 {
		h.every = 1
	}
	if h.count%h.every == 0 {
		h.thin = append(h.thin, p)
	}
	h.count++
	if len(h.thin) > kept {
		for i := range kept / 2 {
			h.thin[i] = h.thin[2*i]
		}
		// The index of the point just added is a multiple of the new distance.
		h.thin[kept/2] = h.thin[kept]
		h.thin = h.thin[:kept/2+1]
		h.every *= 2
	}
}

// last returns the newest n points, or fewer.
func (h *history) last(n int) []point { return h.recent[max(0, len(h.recent)-n):] }

// find returns the trend of the points. A slow trend shows only over the whole run.
func (h *history) find(t test) (trend, bool) {
	recent := h.last(kept)
	before := t
	if len(recent) < h.count {
		before.earlier = h.before(recent[0].x)
	}
	fast, quick := before.find(recent)
	if h.every == 1 {
		return fast, quick
	}
	slow, long := t.find(h.thin)
	switch {
	case long && quick:
		slow.part = fast.part
		return slow, true
	case long:
		return slow, true
	}
	return fast, quick
}

// before returns the thinned points before x.
func (h *history) before(x float64) []point {
	i := 0
	for i < len(h.thin) && h.thin[i].x < x {
		i++
	}
	return h.thin[:i]
}
