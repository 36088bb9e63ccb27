// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/units"
)

// TestRescue checks that a list of levers makes the run fit, and that no shorter one does.
func TestRescue(t *testing.T) {
	s := run(t, map[string]any{
		"model": map[string]any{"name": "gpt2"}, "batch": 1.0, "seq": 512.0, "precision": "amp-bf16", "limit": 1600.0 * units.MiB,
	})
	p, err := Search(Request{Setup: s, Card: gpu.Reference})
	if err != nil {
		t.Fatal(err)
	}
	if p.Recommended != nil {
		t.Fatalf("recommended %v", p.Recommended.Settings)
	}
	if p.Least == nil || p.Least.Estimate.PeakReserved <= s.Limit {
		t.Errorf("least is %+v", p.Least)
	}
	if len(p.Rescue) == 0 || p.Rescued == nil || !runs(p.Rescued.Estimate) {
		t.Fatalf("rescued by %v: %+v", p.Rescue, p.Rescued)
	}
	if len(p.Rejected) != 1 || p.Rejected[0].Why == "" {
		t.Errorf("rejected %+v", p.Rejected)
	}
}

// TestAllow checks that sequences are shortened only if allowed, and no further than needed.
func TestAllow(t *testing.T) {
	s := small(t, map[string]any{"seq": 4096.0, "batch": 1.0, "limit": 300.0 * units.MiB})
	p, err := Search(Request{Setup: s, Card: gpu.Reference})
	if err != nil {
		t.Fatal(err)
	}
	if p.Recommended != nil {
		t.Fatalf("fits without being shortened: %v", p.Recommended.Settings)
	}
	p, err = Search(Request{Setup: s, Card: gpu.Reference, Allow: []string{"seq"}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Recommended == nil || p.Recommended.settings.seq >= 4096 || len(p.Notes) == 0 {
		t.Fatalf("got %+v, notes %q", p.Recommended, p.Notes)
	}
	longer := p.Recommended.settings
	longer.seq *= 2
	again := longer.on(s)
	if p, err = Search(Request{Setup: again, Card: gpu.Reference}); err != nil || p.Recommended != nil {
		t.Errorf("seq %d fits too (%v)", longer.seq, err)
	}
}

// TestSharding checks that a run over several GPUs that does not fit under DDP is sharded, with a note.
func TestSharding(t *testing.T) {
	s := gpt2(t, map[string]any{"batch": 1.0, "precision": "amp-bf16", "seq": 128.0, "limit": 1700.0 * units.MiB, "dist": map[string]any{"kind": "ddp", "world": 8.0}})
	p, err := Search(Request{Setup: s, Card: gpu.Reference})
	if err != nil {
		t.Fatal(err)
	}
	if p.Recommended == nil || p.Recommended.settings.kind == "ddp" {
		t.Fatalf("got %+v", p.Recommended)
	}
	if len(p.Notes) == 0 {
		t.Error("the kind of sharding changed without a note")
	}
	if top := p.Ladder[len(p.Ladder)-1]; top.Choice == nil {
		t.Error("nothing on the ladder fits")
	}
}

func TestDivisors(t *testing.T) {
	for n, want := range map[int][]int{1: {1}, 12: {1, 2, 3, 4, 6, 12}, 16: {1, 2, 4, 8, 16}, 251: {1, 251}} {
		if diff := cmp.Diff(want, divisors(n)); diff != "" {
			t.Errorf("divisors of %d (-want +got):\n%s", n, diff)
		}
	}
}

// TestPrime checks that an effective batch without divisors is rounded down, with a note, rather than trained one
// sample at a time.
func TestPrime(t *testing.T) {
	s := small(t, map[string]any{"limit": 700.0 * units.MiB})
	p, err := Search(Request{Setup: s, Card: gpu.Reference, Target: 251})
	if err != nil {
		t.Fatal(err)
	}
	x := p.Recommended.settings
	if x.batch == 1 || x.effective() > 251 || float64(x.effective()) < nearEnough*251 {
		t.Errorf("%d × %d for 251", x.batch, x.accumulation)
	}
	if len(p.Notes) == 0 {
		t.Error("the effective batch changed without a note")
	}
}

func TestLoaderFor(t *testing.T) {
	for _, tt := range []struct {
		cpus, gpus int
		want       Loader
	}{
		{1, 1, Loader{0, true, false}},
		{8, 1, Loader{7, true, true}},
		{64, 8, Loader{7, true, true}},
		{128, 2, Loader{8, true, true}},
	} {
		if got := LoaderFor(tt.cpus, tt.gpus); got != tt.want {
			t.Errorf("%d CPUs, %d GPUs: %+v, want %+v", tt.cpus, tt.gpus, got, tt.want)
		}
	}
}

// TestLeastOfWhatFails checks that the search for the least memory returns an error if the probe of any variant
// fails.
func TestLeastOfWhatFails(t *testing.T) {
	s := small(t, map[string]any{"batch": 1.0, "limit": 1.0 * units.MiB})
	for failing := range 2 {
		found, err := newSearch(Request{Setup: s, Card: gpu.Reference}, newProber(s), true)
		if err != nil {
			t.Fatal(err)
		}
		variants := found.variants()
		if len(variants) < 2 {
			t.Fatalf("%d variants", len(variants))
		}
		x := found.split(variants[failing], found.batches[0])
		x.accumulation, x.allocator = min(x.accumulation, 2), s.Allocator
		want := errors.New("a run that cannot be simulated")
		_, _ = remembered(found.prober, found.probes, probeKey{x, found.kind}, func() (*estimate.Probe, error) { return nil, want })
		if _, err := found.least(); !errors.Is(err, want) {
			t.Errorf("variant %d: %v", failing, err)
		}
	}
}

// TestInTurnStops checks that inTurn makes all calls before the one that stops it, and skips most of the later ones.
func TestInTurnStops(t *testing.T) {
	const n, enough = 10_000, 7
	var calls [n]atomic.Bool
	inTurn(n, func(i int) bool {
		calls[i].Store(true)
		time.Sleep(time.Microsecond)
		return i < enough
	})
	done := 0
	for i := range calls {
		if calls[i].Load() {
			done++
		} else if i <= enough {
			t.Errorf("call %d is missing", i)
		}
	}
	if done > n/2 {
		t.Errorf("%d of %d calls, although one of the first was enough", done, n)
	}
}

// TestAdviceDoesNotFillTheCard checks that advice for runs that do not fit leaves some of the card free. Earlier
// advice for full fine-tuning of a 70B model on 8 H100 took 100.0 % of each card, and that for QLoRA at 8,192 tokens
// 100.0 % of a T4.
func TestAdviceDoesNotFillTheCard(t *testing.T) {
	s := run(t, modeled("llama-3.1-70b", map[string]any{
		"batch": 1.0, "seq": 4096.0, "precision": "bf16", "checkpointing": true, "dist": map[string]any{"kind": "ddp", "world": 8.0},
	}))
	on := card(t, "H100-80GB")
	found, err := Remedies(t.Context(), s, on)
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	for _, r := range found {
		if float64(r.Takes) > advisable*float64(on.Total) {
			t.Errorf("%v takes %v of %v", r.Flags, units.Bytes(r.Takes), units.Bytes(on.Total))
		}
	}
	p := planned(t, "T4", modeled("llama-3.1-8b", map[string]any{
		"batch": 1.0, "seq": 8192.0, "precision": "bf16", "lora": map[string]any{"rank": 16.0, "peft": true}, "quantization": map[string]any{"bits": 4.0},
	}))
	if p.Rescued == nil || float64(p.Rescued.Estimate.DevicePeak) > advisable*float64(p.Card.Total) {
		t.Errorf("%v: %+v", p.Flags, p.Rescued)
	}
}
