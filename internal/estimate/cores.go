// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"sync"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// maxAhead is the number of runs that one search simulates at once. Each needs memory for its stream, and the further
// ahead a run is, the less likely it is needed.
const maxAhead = 4

// Cores limits the number of runs simulated at the same time, over all searches that share it. A search has its own
// core, and uses others that are idle.
type Cores chan struct{}

// NewCores returns n cores, but at least one. The command line passes atOnce (cli/answer.go).
func NewCores(n int) Cores { return make(Cores, max(n, 1)) }

func (c Cores) take()    { c <- struct{}{} }
func (c Cores) release() { <-c }

// idle acquires a core if one is idle, and reports whether it did.
func (c Cores) idle() bool {
	select {
	case c <- struct{}{}:
		return true
	default:
		return false
	}
}

// ahead answers the questions of one search and, on idle cores, the questions that would come next if the answers are
// as guessed. A wrong guess wastes only idle time and does not affect the result.
type ahead struct {
	cores Cores
	try   func(batch int) (*Answer, error)
	guess func(batch int) bool
	known map[int]tried // results computed before they were needed
}

// tried is the result of a run.
type tried struct {
	answer *Answer
	err    error
}

// ask answers the next question of a search.
func (a *ahead) ask(b bisection) (*Answer, error) {
	got, ok := a.known[b.next()]
	if !ok { // the known results are for questions that the search did not ask
		a.known = a.tryAll(a.likely(b))
		got = a.known[b.next()]
	}
	delete(a.known, b.next())
	return got.answer, got.err
}

// likely returns the next question, and as many of the following ones as there are idle cores. It acquires those
// cores.
func (a *ahead) likely(b bisection) []int {
	batches := []int{b.next()}
	for len(batches) < maxAhead {
		b = b.after(a.guess(b.next()))
		if b.next() == 0 || !a.cores.idle() {
			break
		}
		batches = append(batches, b.next())
	}
	return batches
}

// tryAll tries batches at the same time, each on its own core. It releases all cores except the first.
func (a *ahead) tryAll(batches []int) map[int]tried {
	results := make([]tried, len(batches))
	var wg sync.WaitGroup
	for i, batch := range batches[1:] {
		wg.Go(func() {
			defer a.cores.release()
			results[i+1].answer, results[i+1].err = a.try(batch)
		})
	}
	results[0].answer, results[0].err = a.try(batches[0])
	wg.Wait()
	out := map[int]tried{}
	for i, batch := range batches {
		out[batch] = results[i]
	}
	return out
}

// trend is the memory at two batches, used to guess the memory at others.
type trend struct {
	batch [2]int // 0 means not yet known
	peak  [2]uint64
}

// add replaces the older of the two runs.
func (t *trend) add(a *Answer) {
	t.batch = [2]int{t.batch[1], a.Setup.Batch}
	t.peak = [2]uint64{t.peak[1], a.PeakReserved}
}

// slope returns the additional bytes per sample, or 0 if not yet known.
func (t *trend) slope() float64 {
	if t.batch[0] == 0 || t.batch[0] == t.batch[1] {
		return 0
	}
	return (float64(t.peak[1]) - float64(t.peak[0])) / float64(t.batch[1]-t.batch[0])
}

// at returns the guessed memory of a batch.
func (t *trend) at(batch int) float64 {
	return float64(t.peak[1]) + t.slope()*float64(batch-t.batch[1])
}

// room returns the number of bytes that PyTorch may reserve.
func room(s *setup.Setup, card gpu.Card) float64 {
	most := Reservable(s, card)
	if s.Limit > 0 {
		most = min(most, s.Limit)
	}
	return float64(most)
}
