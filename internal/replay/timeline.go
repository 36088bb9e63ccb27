// SPDX-License-Identifier: Apache-2.0

package replay

// timeline reduces the memory after each event to a few samples, each the highest in its stretch.
type timeline struct {
	samples []Sample
	events  int
}

func newTimeline(samples, events int, start Sample) *timeline {
	t := &timeline{samples: make([]Sample, min(samples, events)), events: events}
	if len(t.samples) > 0 {
		t.samples[0] = start
	}
	return t
}

func (t *timeline) add(event int, now Sample) {
	if len(t.samples) == 0 {
		return
	}
	s := &t.samples[event*len(t.samples)/t.events]
	s.Allocated = max(s.Allocated, now.Allocated)
	s.Reserved = max(s.Reserved, now.Reserved)
}
