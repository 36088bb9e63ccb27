// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"math"
)

// Steps that need much more than the others, although their batches are the same, usually follow a checkpoint: saving it gathered or
// copied the weights on the GPU.
const (
	leastSpike  = 0.02 // least that a spike needs above the typical step, as a fraction of the capacity
	leastSpikes = 2    // one may be the first allocation of a library
	mostSpikes  = 0.1  // fraction of the steps; if there are more, this is how steps vary
)

// spikes returns the part of a sentence that names such steps; "" if there are none.
func (p *process) spikes(capacity float64) string {
	if p.shapes(kept).varies {
		return ""
	}
	recent := p.recentPeaks(kept)
	var above []float64
	for _, x := range recent {
		if !x.afterEval {
			above = append(above, x.peak-x.allocated)
		}
	}
	typical := median(above)
	count, most, first, last := 0, 0.0, 0, 0
	for _, x := range recent {
		if x.afterEval || x.peak-x.allocated < typical+leastSpike*capacity {
			continue
		}
		if count++; count == 1 {
			first = x.step
		}
		most, last = max(most, x.peak-x.allocated-typical), x.step
	}
	if count < leastSpikes || float64(count) > mostSpikes*float64(len(recent)) {
		return ""
	}
	every := math.Round(float64(last-first) / float64(count-1))
	if every < 2 {
		return ""
	}
	return fmt.Sprintf("; about one step in %.0f needs %v more than the others, as after saving a checkpoint", every, gib(most))
}

// evaluation is what is known about the running evaluation.
type evaluation struct {
	batches     int     // batches so far
	first, last float64 // memory that was allocated after the first and the newest batch
	falls       bool    // it has fallen from one batch to the next
}

// add adds a batch.
func (e *evaluation) add(allocated float64) {
	if e.batches == 0 {
		e.first = allocated
	}
	e.falls = e.falls || e.batches > 1 && allocated < e.last
	e.batches, e.last = e.batches+1, allocated
}

// The least that an evaluation must keep to be reported.
const (
	leastBatches = 4
	leastKept    = 1 << 20 // bytes per batch
)

// collects returns the memory that each batch keeps, if every batch so far has kept some.
func (e *evaluation) collects() (each float64, ok bool) {
	if e.batches < leastBatches || e.falls {
		return 0, false
	}
	each = (e.last - e.first) / float64(e.batches-1)
	return each, each >= leastKept
}
