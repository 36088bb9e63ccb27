// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"fmt"
	"slices"
)

// Rank is one process of a run on several GPUs.
type Rank struct {
	Rank  *int    `json:"rank,omitempty"` // the rank that torchrun assigned; nil if unknown
	PID   int     `json:"pid"`            // the process
	GPU   int     `json:"gpu"`            // its card
	Peak          // the peak of its recent steps
	Share float64 `json:"share"`                  // reserved fraction of the memory available to it
	Above float64 `json:"above_others,omitempty"` // bytes reserved above the median of the other ranks, if substantial
}

// name returns the name of the process for people.
func (r Rank) name() string {
	if r.Rank == nil {
		return fmt.Sprintf("process %d", r.PID)
	}
	return fmt.Sprintf("rank %d", *r.Rank)
}

// A rank is reported if it exceeds the median of the other ranks by this fraction and by this many bytes. Ranks
// always differ by a few cached blocks, and by their batches if lengths vary.
const (
	unequalShare = 0.10
	unequalBytes = 256 << 20
)

// peers returns the training processes of one run: those that report a rank, or all processes that snug has started. A
// process that has only just begun is excluded.
func (w *Watcher) peers() []*process {
	var out []*process
	for _, p := range w.subjects() {
		if p.seenStep && !p.failed && p.trained >= earlySteps && (p.world > 1 || w.own) {
			out = append(out, p)
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// ranks returns the processes of one run; nil if there is only one.
func (w *Watcher) ranks() []Rank {
	var out []Rank
	peers := w.peers()
	for _, p := range peers {
		allocated, reserved := p.highest()
		r := Rank{Rank: p.rank, PID: p.pid, GPU: max(0, p.gpu.Index), Peak: Peak{allocated, reserved}}
		if capacity := w.capacity(p); capacity > 0 {
			r.Share = reserved / capacity
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Rank) int { return cmp.Compare(number(a), number(b)) })
	for i := range out {
		others := median(othersThan(out, i))
		if above := out[i].Reserved - others; above > unequalShare*others && above > unequalBytes {
			out[i].Above = above
		}
	}
	return out
}

func number(r Rank) int {
	if r.Rank == nil {
		return r.PID
	}
	return *r.Rank
}

func othersThan(all []Rank, i int) (out []float64) {
	for j, r := range all {
		if j != i {
			out = append(out, r.Reserved)
		}
	}
	return out
}

// compareRanks adds the differences between the ranks to a reading.
func (w *Watcher) compareRanks(r *Reading) {
	r.Ranks = w.ranks()
	var most *Rank
	for i := range r.Ranks {
		if x := &r.Ranks[i]; x.Above > 0 && (most == nil || x.Above > most.Above) {
			most = x
		}
	}
	if most == nil || r.State == OutOfMemory || r.State == Ended {
		return
	}
	rest := most.Reserved - most.Above
	others := fmt.Sprintf("the median of the other %d", len(r.Ranks)-1)
	if len(r.Ranks) == 2 {
		others = "the other one"
	}
	r.Why += fmt.Sprintf("; the ranks are not balanced: %s reserves %v, %v more than %s (%v, %+.0f %%)",
		most.name(), gib(most.Reserved), gib(most.Above), others, gib(rest), 100*most.Above/max(rest, 1))
	if bigger, ok := w.largerBatches(most.PID); ok {
		r.Why += ", and " + bigger
		r.Advice = joined(r.Advice, "give all ranks batches of about equal size: shard the data by length, or by tokens")
		return
	}
	r.Advice = joined(r.Advice, "look for what only "+most.name()+" does: gathered outputs, a whole copy of the weights, logging; the fullest rank limits every rank's batch")
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// largerBatches reports whether the batches of a process are larger than those of its peers.
func (w *Watcher) largerBatches(pid int) (text string, ok bool) {
	own, others := 0.0, 0.0
	for _, p := range w.peers() {
		most := 0.0
		for _, x := range p.recentPeaks(kept) {
			if !x.shapeOK {
				return "", false
			}
			most = max(most, x.size)
		}
		if p.pid == pid {
			own = most
		} else {
			others = max(others, most)
		}
	}
	return fmt.Sprintf("its batches are larger (up to %.0f elements; the others have up to %.0f)", own, others), own > (1+unequalShare)*others
}
