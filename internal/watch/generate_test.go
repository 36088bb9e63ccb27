// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math"
	"math/rand/v2"
)

// generated is a generated run: the memory of each step, as fractions of the card.
type generated struct {
	seed     uint64
	steps    int
	stays    float64                          // persistent memory
	noise    float64                          // standard deviation of persistent memory
	persists float64                          // correlation of the noise from step to step
	lengths  func(step int, r *rand.Rand) int // length of each batch; nil means always 512
	held     float64                          // memory still allocated after a step with a batch of 512
	square   bool                             // held grows with the square of the length
	leak     func(step, length int) float64   // what a step leaks
	jumps    map[int]float64                  // single permanent additions
	takes    float64                          // what a batch of 512 needs above persistent memory
	evalEach int                              // steps between evaluations
	hidden   bool                             // the shape is not reported
}

const genCard = int64(40 << 30)

// events returns the events of the run. It ends with an out-of-memory error if it needs more than the card has.
func (g generated) events() (out []Event, oomStep int) {
	r := rand.New(rand.NewPCG(g.seed, 7))
	out = append(out, Event{Kind: KindStart, Total: genCard, PID: 1})
	leaked, drift, reserved, t := 0.0, 0.0, 0.0, 1.0
	for step := 1; step <= g.steps; step++ {
		length := 512
		if g.lengths != nil {
			length = g.lengths(step, r)
		}
		if g.leak != nil {
			leaked += g.leak(step, length)
		}
		leaked += g.jumps[step]
		drift = g.persists*drift + math.Sqrt(1-g.persists*g.persists)*g.noise*r.NormFloat64()
		relative := float64(length) / 512
		held := g.held * relative
		if g.square {
			held *= relative
		}
		allocated := g.stays + leaked + held + drift
		peak := g.stays + leaked + g.takes*relative + max(0, drift)
		t += 0.05 + 0.05*relative
		if peak > 1 {
			out = append(out, Event{T: t, Kind: KindOOM, PID: 1}, Event{T: t, Kind: KindEnd})
			return out, step
		}
		reserved = max(reserved, peak)
		s := Step{N: step, Phase: Train, Shape: []int{8, length}, Allocated: share(allocated), Reserved: share(reserved), PeakAllocated: share(max(peak, allocated)), PeakReserved: share(reserved)}
		if g.hidden {
			s.Shape = nil
		}
		out = append(out, Event{T: t, Kind: KindStep, PID: 1, Step: s})
		if g.evalEach > 0 && step%g.evalEach == 0 {
			if g.stays+leaked+0.2 > 1 { // an evaluation can run out of memory too
				out = append(out, Event{T: t, Kind: KindOOM, PID: 1}, Event{T: t, Kind: KindEnd})
				return out, step
			}
			for range 4 {
				t += 0.05
				e := s
				e.Phase, e.Shape, e.Allocated, e.PeakAllocated = Eval, []int{32, 512}, share(allocated+0.1), share(g.stays+leaked+0.2)
				out = append(out, Event{T: t, Kind: KindStep, PID: 1, Step: e})
			}
		}
	}
	return append(out, Event{T: t, Kind: KindEnd}), 0
}

func share(part float64) int64 { return int64(part * float64(genCard)) }

// drawn returns random batch lengths.
func drawn(median, sigma float64) func(int, *rand.Rand) int {
	return func(_ int, r *rand.Rand) int {
		return min(2048, 16+int(median*math.Exp(sigma*r.NormFloat64())))
	}
}

func curriculum(from, to, until int) func(int, *rand.Rand) int {
	return func(step int, _ *rand.Rand) int {
		return from + (to-from)*min(step, until)/until
	}
}

// inStages grows lengths in equal stages, as curricula with buckets do.
func inStages(from, to, stages, until int) func(int, *rand.Rand) int {
	return func(step int, _ *rand.Rand) int {
		return from + (to-from)*(min(step, until)*stages/until)/stages
	}
}

func bucketed(lengths ...int) func(int, *rand.Rand) int {
	return func(_ int, r *rand.Rand) int { return lengths[r.IntN(len(lengths))] }
}

func everyStep(part float64) func(int, int) float64 { return func(int, int) float64 { return part } }
func byLength(part float64) func(int, int) float64 {
	return func(_, length int) float64 { return part * float64(length) / 512 }
}
func everyNth(n int, part float64) func(int, int) float64 {
	return func(step, _ int) float64 {
		if step%n == 1 && step > 1 {
			return part
		}
		return 0
	}
}
func from(first int, leak func(int, int) float64) func(int, int) float64 {
	return func(step, length int) float64 {
		if step < first {
			return 0
		}
		return leak(step, length)
	}
}
