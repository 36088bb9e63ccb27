// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/allocator"
	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/units"
)

// A run whose model is a profile is searched like any other, except that its probes take their stream from the
// recordings instead of from a family. Settings that the recordings do not vary stay the same, and speeds are the
// recorded ones.

// isRecorded reports whether the model is a profile.
func (s *search) isRecorded() bool { return s.base.Model.Program != nil }

// isTimed reports whether the speed is known.
func (s *search) isTimed() bool {
	p := estimate.Profile(s.base)
	return p == nil || len(p.Facts.Timings) > 0
}

// lockRecorded locks the settings that a profile cannot change, and returns them.
func lockRecorded(base *setup.Setup, locked map[string]bool) map[string]bool {
	if base.Model.Program == nil {
		return nil
	}
	out := map[string]bool{}
	for _, f := range setup.Used(setup.LockedByProfile) {
		object, _, _ := strings.Cut(f, ".")
		out[object] = true
	}
	for _, f := range setup.Used(setup.Size) {
		if !base.Model.Varies(f) {
			out[f] = true
		}
	}
	for f := range out {
		locked[f] = true
	}
	return out
}

// recordedOptions reports whether the recordings were made with non-default allocator options. A plan does not change
// those.
func recordedOptions(base *setup.Setup) bool {
	p := estimate.Profile(base)
	return p != nil && p.Options != allocator.DefaultOptions()
}

// recordedNotes returns the notes on a choice that is based on recordings.
func (s *search) recordedNotes(c *Choice) []string {
	p := estimate.Profile(s.base)
	if p == nil {
		return nil
	}
	out := []string{"Precision, checkpointing, attention and optimizer stay as recorded; to compare others, record again (snug profile)."}
	say := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	on, err := gpu.Find(p.Card)
	_, grows := p.Seconds(c.settings.on(s.base).At())
	say(!s.isTimed(), "The recordings have no times, so the largest batch is assumed to be the fastest.")
	say(s.isTimed() && (err != nil || on.Name != s.req.Card.Name), "Speeds are for %s, where the run was recorded.", p.Card)
	say(s.isTimed() && p.Facts.Stacks, "Recording stacks slowed down the steps: use the speeds only to compare settings.")
	say(s.isTimed() && !grows, "The recorded steps did not get slower with more samples, so large batches look faster than they are.")
	kept := estimate.Kept(c.settings.on(s.base))
	say(kept > 0, "The recording has one forward pass per step on one GPU; %v of gradients are added.", units.Bytes(kept))
	return append(out, s.uncounted(c)...)
}

// uncounted lists what the figures of a choice or of the current settings do not include.
func (s *search) uncounted(c *Choice) []string {
	var out []string
	for _, x := range []settings{s.today, c.settings} {
		for _, text := range estimate.Uncounted(x.on(s.base)) {
			if text += "."; !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// furtherRecorded returns the further levers for a profile.
func (s *search) furtherRecorded(x settings) []lever {
	var out []lever
	if x.batch > 1 && s.base.Model.Varies("batch") {
		out = append(out, lever{change: "batch 1", pull: func(x *settings) { x.accumulation, x.batch = x.accumulation*x.batch, 1 }})
	}
	for _, part := range []int{2, 4} {
		if x.negatives >= part && s.base.Model.Varies("negatives") {
			out = append(out, lever{change: fmt.Sprintf("negatives %d", x.negatives/part), pull: func(x *settings) { x.negatives /= part }})
		}
		if x.seq >= 64*part && s.base.Model.Varies("seq") {
			out = append(out, lever{change: fmt.Sprintf("seq %d", x.seq/part), pull: func(x *settings) { x.seq /= part }})
		}
	}
	return out
}
