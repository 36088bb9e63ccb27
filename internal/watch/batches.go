// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"hash/maphash"
	"math"
	"slices"
)

// Two ways in which batches explain memory that a comparison of single steps does not show.

// kinds counts the different shapes of a run.
type kinds struct {
	seed maphash.Seed
	seen map[uint64]bool
}

// mostKinds is how many shapes are told apart. A run with more of them has new shapes all the time, so they explain nothing.
const mostKinds = 4096

// add returns a shape's key, and the number of different shapes so far.
func (k *kinds) add(shape []int) (key uint64, n int) {
	if k.seen == nil {
		k.seed, k.seen = maphash.MakeSeed(), map[uint64]bool{}
	}
	var h maphash.Hash
	h.SetSeed(k.seed)
	for _, d := range shape {
		maphash.WriteComparable(&h, d)
	}
	key = h.Sum64()
	if len(k.seen) < mostKinds {
		k.seen[key] = true
	}
	return key, len(k.seen)
}

// Requirements for new shapes to explain a trend.
const (
	unchanged = 0.25 // largest slope between batches of a shape, relative to the trend, if no shape is new in between
	covered   = 0.25 // minimum part of the window that lies between such batches
)

// newShapesExplain reports whether memory rises only when a batch has a new shape. There are only so many, so this ends.
func newShapesExplain(window []point, slope float64) bool {
	first, last := window[0], window[len(window)-1]
	if first.kinds == last.kinds {
		return false
	}
	latest := map[uint64]point{}
	rise, length, quiet, upTo := 0.0, 0.0, 0.0, math.Inf(-1)
	for _, p := range window {
		if q, ok := latest[p.key]; ok && q.kinds == p.kinds {
			rise, length = rise+p.y-q.y, length+p.x-q.x
			quiet += max(0, p.x-max(q.x, upTo))
			upTo = max(upTo, p.x)
		}
		latest[p.key] = p
	}
	return quiet >= covered*(last.x-first.x) && rise < unchanged*slope*length
}

// withoutBatches returns the window without the part of memory that is proportional to the batch's sizes, or nil if batches are
// alike or have a trend of their own.
func withoutBatches(window []point) []point {
	features := features(window)
	if len(features) == 0 {
		return nil
	}
	n := float64(len(window))
	xs, ys := make([]float64, len(window)), make([]float64, len(window))
	for i, p := range window {
		xs[i], ys[i] = p.x, p.y
	}
	for _, f := range features {
		if math.Abs(correlation(xs, f)) > 2/math.Sqrt(n) {
			return nil
		}
	}
	factors := leastSquares(append(features, xs), ys)
	if factors == nil {
		return nil
	}
	out := make([]point, len(window))
	for i, p := range window {
		out[i] = point{x: p.x, y: p.y}
		for j, f := range features {
			out[i].y -= factors[j] * f[i]
		}
	}
	return out
}

// features returns the sizes that vary: of each dimension, and of the whole batch, each minus its mean. It returns nil if shapes
// have different numbers of dimensions.
func features(window []point) (out [][]float64) {
	add := func(of func(point) float64) {
		f, mean := make([]float64, len(window)), 0.0
		for i, p := range window {
			f[i] = of(p)
			mean += f[i] / float64(len(window))
		}
		spread := 0.0
		for i := range f {
			f[i] -= mean
			spread = max(spread, math.Abs(f[i]))
		}
		if spread > 0 {
			out = append(out, f)
		}
	}
	dims := len(window[0].shape)
	if slices.ContainsFunc(window, func(p point) bool { return len(p.shape) != dims }) {
		return nil
	}
	for d := range dims {
		add(func(p point) float64 { return float64(p.shape[d]) })
	}
	if len(out) > 1 { // otherwise it is proportional to the only one
		add(func(p point) float64 { return p.size })
	}
	return out
}

// leastSquares returns the factors of the features that, with a constant, come closest to ys. It returns nil if they are not determined.
func leastSquares(features [][]float64, ys []float64) []float64 {
	n := len(features)
	means := make([]float64, n)
	mean := 0.0
	for i := range ys {
		mean += ys[i] / float64(len(ys))
		for j, f := range features {
			means[j] += f[i] / float64(len(ys))
		}
	}
	m := make([][]float64, n) // the normal equations, with the right side as last column
	for j := range n {
		m[j] = make([]float64, n+1)
		for i := range ys {
			a := features[j][i] - means[j]
			for k := range n {
				m[j][k] += a * (features[k][i] - means[k])
			}
			m[j][n] += a * (ys[i] - mean)
		}
	}
	for j := range n {
		scale := m[j][j]
		pivot := j
		for k := j + 1; k < n; k++ {
			if math.Abs(m[k][j]) > math.Abs(m[pivot][j]) {
				pivot = k
			}
		}
		m[j], m[pivot] = m[pivot], m[j]
		if math.Abs(m[j][j]) <= 1e-9*scale || m[j][j] == 0 {
			return nil
		}
		for k := range n {
			if k == j {
				continue
			}
			by := m[k][j] / m[j][j]
			for i := j; i <= n; i++ {
				m[k][i] -= by * m[j][i]
			}
		}
	}
	out := make([]float64, n)
	for j := range n {
		out[j] = m[j][n] / m[j][j]
	}
	return out
}
