// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
	"snug/internal/profile"
)

// TestRecordedInterval checks that each cause widens the interval of a recorded run in the right direction, and that
// measurements on this machine replace all of them.
func TestRecordedInterval(t *testing.T) {
	ddp := map[string]any{"kind": "ddp", "world": 2.0}
	const without = 2323644416 - 1960837120 // how much less the measured run would take without updates
	added, several := residuals().Added, residuals().several("ddp")
	far := max(-several.Low, several.High)
	for _, c := range []struct {
		name       string
		fields     map[string]any
		precision  string
		less, more float64 // as a fraction of the peak
	}{
		{"all known", map[string]any{"batch": 512.0}, "", 0, 0},
		{"as recorded", map[string]any{"batch": 64.0}, "", 0, 0},
		{"with room", map[string]any{"batch": 512.0, "limit": float64(40 << 30)}, "", 0, 0},
		{"updates that may be skipped", map[string]any{"batch": 512.0}, "amp-fp16", without / 2323644416.0, 0},
		{"gradients on top", map[string]any{"batch": 2048.0, "accumulation": 4.0}, "", -added.Low, added.High},
		{"over two GPUs", map[string]any{"batch": 2048.0, "dist": ddp}, "", max(-added.Low, far), max(added.High, far)},
	} {
		p := towers(t)
		p.Facts.Precision = c.precision
		a := estimated(t, decoded(t, p, c.fields), gpu.Reference)
		share := func(x float64) uint64 { return uint64(max(x*float64(a.PeakReserved), segment)) }
		if less, more := a.PeakReserved-a.Interval[0], a.Interval[1]-a.PeakReserved; less != share(c.less) || more != share(c.more) {
			t.Errorf("%s: %d less and %d more than %d, want %d and %d", c.name, less, more, a.PeakReserved, share(c.less), share(c.more))
		}
		a.Calibrate(Range{Cases: 4, Low: -0.01, High: 0.02})
		peak := float64(a.PeakReserved)
		want := [2]uint64{uint64(peak*0.99 - segment), uint64(peak*1.02 + segment)}
		if diff := cmp.Diff(want, a.Interval); diff != "" || a.Causes != nil {
			t.Errorf("%s, measured here (-want +got):\n%s%v", c.name, diff, a.Causes)
		}
	}
}

// TestRecordedElsewhere checks the interval on other kinds of cards. cuBLAS has smaller workspaces there, which
// lowers the interval's lower end; a lack of flash attention raises its upper end by a lot. On the recorded card
// the interval is narrow.
func TestRecordedElsewhere(t *testing.T) {
	s := decoded(t, towers(t), map[string]any{"batch": 512.0})
	for _, c := range []struct {
		card       string
		less, more uint64
		causes     []profile.Cause
	}{
		{gpu.Reference.Name, segment, segment, nil},
		{"RTX-4090", 38 << 20, segment, []profile.Cause{profile.Elsewhere}},
		{"T4", 275_816_592, 1_344_693_023, []profile.Cause{profile.Elsewhere, profile.Attention}},
	} {
		card, err := gpu.Find(c.card)
		if err != nil {
			t.Fatal(err)
		}
		a := estimated(t, s, card)
		if less, more := a.PeakReserved-a.Interval[0], a.Interval[1]-a.PeakReserved; less != c.less || more != c.more {
			t.Errorf("%s: %d less and %d more, want %d and %d", c.card, less, more, c.less, c.more)
		}
		if diff := cmp.Diff(c.causes, a.Causes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.card, diff)
		}
	}
}
