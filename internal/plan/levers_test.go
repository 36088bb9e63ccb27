// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/allocator"
	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/profile/profiletest"
	"snug/internal/setup"
	"snug/internal/units"
)

func searching(t *testing.T, s *setup.Setup, c gpu.Card) *search {
	t.Helper()
	found, err := newSearch(Request{Setup: s, Card: c}, newProber(s), true)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func named(levers []lever, change string) *lever {
	for i := range levers {
		if strings.HasPrefix(levers[i].change, change) {
			return &levers[i]
		}
	}
	return nil
}

// TestFlashLever checks that flash attention is offered only if it can run: in 16 bits, on a card that supports it,
// for a model that does not use it yet.
func TestFlashLever(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *setup.Setup
		card string
		want bool
	}{
		{"16 bits", small(t, nil), "H200", true},
		{"32 bits", small(t, map[string]any{"precision": "fp32"}), "H200", false},
		{"already used", small(t, map[string]any{"attention": "flash"}), "H200", false},
		{"an older card", small(t, map[string]any{"precision": "amp-fp16"}), "T4", false},
		{"images", run(t, map[string]any{"model": map[string]any{"name": "torchvision/resnet18"}, "batch": 8.0, "precision": "amp-bf16"}), "H200", false},
	} {
		if got := named(searching(t, c.s, card(t, c.card)).pullable(), "attention flash") != nil; got != c.want {
			t.Errorf("%s: flash attention is offered: %t", c.name, got)
		}
	}
}

// TestHalvingLever checks that half the batch with twice the accumulation gives the same effective batch, and that
// the lever's name shows both.
func TestHalvingLever(t *testing.T) {
	s := small(t, map[string]any{"batch": 6.0, "accumulation": 5.0})
	l := named(searching(t, s, gpu.Reference).pullable(), "batch 3")
	if l == nil || l.change != "batch 3, accumulation 10" {
		t.Fatalf("%+v", l)
	}
	x := settingsOf(s)
	if l.pull(&x); x.batch != 3 || x.accumulation != 10 {
		t.Errorf("%s gives batch %d, accumulation %d", l.change, x.batch, x.accumulation)
	}
}

// TestRecordedBatchOfOne checks that changes that rescue a recorded run keep its effective batch.
func TestRecordedBatchOfOne(t *testing.T) {
	s := searching(t, recordedSetup(t, towers(t, profile.Facts{})), gpu.Reference)
	l := named(s.further(s.today), "batch 1")
	if l == nil {
		t.Fatal("the lever is not offered")
	}
	x := s.today
	if l.pull(&x); x.batch != 1 || x.accumulation != 64*64 {
		t.Errorf("batch %d, accumulation %d", x.batch, x.accumulation)
	}
}

// TestRecordedOptions checks that no allocator options are offered if the recordings already used some.
func TestRecordedOptions(t *testing.T) {
	for _, own := range []bool{false, true} {
		p := profiletest.Towers(t)
		p.Options = allocator.DefaultOptions()
		if own {
			p.Options.Expandable = true
		}
		s := recordedSetup(t, estimate.AsModel(p))
		if got := named(searching(t, s, gpu.Reference).pullable(), "allocator") != nil; got == own {
			t.Errorf("recorded with its own options: %t, others are offered: %t", own, got)
		}
	}
}

// TestRecordedUncounted checks that a plan notes once what its figures do not include.
func TestRecordedUncounted(t *testing.T) {
	p, err := Search(Request{Setup: recordedSetup(t, towers(t, profile.Facts{})), Card: gpu.ForMemory(8 * units.GiB)})
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, n := range p.Notes {
		if strings.Contains(n, "the number of forward passes per step") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the note appears %d times:\n%s", said, strings.Join(p.Notes, "\n"))
	}
}

// TestRejected checks the rejected settings: the same run with checkpointing toggled, with how much slower it is,
// and the current precision if the card has no hardware for it.
func TestRejected(t *testing.T) {
	p, err := Search(Request{Setup: gpt2(t, map[string]any{"precision": "bf16"}), Card: card(t, "T4")})
	if err != nil {
		t.Fatal(err)
	}
	find := func(is func(Rejection) bool) *Rejection {
		if i := slices.IndexFunc(p.Rejected, is); i >= 0 {
			return &p.Rejected[i]
		}
		return nil
	}
	if r := find(func(r Rejection) bool { return strings.Contains(r.Why, "no bf16 hardware") }); r == nil || r.Settings.Get("precision") != "bf16" {
		t.Errorf("bf16: %+v", r)
	}
	other := find(func(r Rejection) bool { return r.Settings.Get("checkpointing") != p.Recommended.settings.checkpointing })
	if other == nil {
		t.Fatalf("toggled checkpointing is not listed: %+v", p.Rejected)
	}
	var share int
	if _, err := fmt.Sscanf(other.Why, "%d %% slower", &share); err != nil || share < 1 || share > 60 {
		t.Errorf("toggled checkpointing: %q", other.Why)
	}
}

// TestPrecisionLevers checks that autocast is offered to a 32-bit run, in the type that the card supports, and 16-bit
// weights if it does not have them yet.
func TestPrecisionLevers(t *testing.T) {
	for precision, want := range map[string]bool{"fp32": true, "amp-bf16": true, "bf16": false, "fp16": false} {
		s := searching(t, small(t, map[string]any{"precision": precision}), gpu.Reference)
		if got := named(s.further(s.today), "precision bf16") != nil; got != want {
			t.Errorf("%s: bf16 is offered: %t", precision, got)
		}
	}
	for c, want := range map[string]string{"H200": "precision amp-bf16", "T4": "precision amp-fp16"} {
		s := searching(t, small(t, map[string]any{"precision": "fp32"}), card(t, c))
		if named(s.pullable(), want) == nil || named(s.further(s.today), want) == nil {
			t.Errorf("%s: %s is not offered", c, want)
		}
	}
	s := searching(t, small(t, map[string]any{"precision": "amp-fp16"}), card(t, "T4"))
	if named(s.further(s.today), "precision bf16") != nil {
		t.Error("bf16 is offered for a card without it")
	}
}

// TestLeversPull checks that each lever changes the run, and that no two do so in the same way.
func TestLeversPull(t *testing.T) {
	pulled := map[string]bool{}
	for _, s := range []*setup.Setup{
		small(t, map[string]any{"precision": "fp32", "attention": "eager", "batch": 4.0}),
		small(t, map[string]any{"optimizer": "adamw-loop"}),
		small(t, map[string]any{"dist": map[string]any{"kind": "ddp", "world": 4.0}}),
		run(t, map[string]any{"model": map[string]any{"name": "torchvision/resnet18"}, "batch": 8.0, "precision": "fp32"}),
		recordedSetup(t, towers(t, profile.Facts{})),
	} {
		for _, c := range []gpu.Card{gpu.Reference, card(t, "T4")} {
			search := searching(t, s, c)
			for _, levers := range [][]lever{search.pullable(), search.further(search.today)} {
				seen := map[settings]string{search.today: "nothing"}
				for _, l := range levers {
					x := search.today
					l.pull(&x)
					if as := seen[x]; as != "" {
						t.Errorf("%s on %s: %s does what %s does", s.Model.Title(), c.Name, l.change, as)
					}
					seen[x] = l.change
					pulled[l.change] = true
				}
			}
		}
	}
	if len(pulled) < 15 {
		t.Errorf("only %d levers were tried", len(pulled))
	}
}

// TestPullable checks the list of levers for a 32-bit run with eager attention, in order, and the additional levers
// if nothing fits.
func TestPullable(t *testing.T) {
	s := searching(t, small(t, map[string]any{"precision": "fp32", "attention": "eager", "batch": 4.0, "optimizer": "adamw-loop"}), gpu.Reference)
	var got []string
	for _, l := range s.pullable() {
		got = append(got, l.change)
	}
	want := []string{
		"batch 2, accumulation 24", "precision amp-bf16", "precision bf16", "checkpointing", "optimizer adamw-fused", "optimizer adamw-8bit",
		"attention sdpa", "loss in 8 chunks", "Liger's kernels", "LoRA of rank 16", "allocator expandable_segments:True",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var further []string
	for _, l := range s.further(s.today) {
		further = append(further, l.change)
	}
	want = []string{
		"batch 1", "checkpointing", "optimizer adamw-fused", "attention sdpa", "precision amp-bf16", "Liger's kernels", "loss in 8 chunks",
		"optimizer adamw-8bit", "precision bf16", "LoRA of rank 16", "seq 128", "seq 64", "load sharded",
		"fsdp2 over 2 GPUs", "fsdp2 over 4 GPUs", "fsdp2 over 8 GPUs",
	}
	if diff := cmp.Diff(want, further); diff != "" {
		t.Errorf("further levers, -want +got:\n%s", diff)
	}
}

// TestLeversOfARunThatEmptiesItsCache checks that a plan explains what savings are relative to if the current run
// fits only because PyTorch empties its cache, so that the table shows less than the run would take with more
// memory.
func TestLeversOfARunThatEmptiesItsCache(t *testing.T) {
	s := run(t, map[string]any{
		"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 8.0, "seq": 1024.0, "precision": "amp-bf16",
		"dist": map[string]any{"kind": "fsdp2", "world": 4.0},
	})
	p, err := Search(Request{Setup: s, Card: card(t, "A100-40GB")})
	if err != nil {
		t.Fatal(err)
	}
	free := *s
	roomy, err := estimate.Estimate(&free, card(t, "A100-80GB"))
	if err != nil {
		t.Fatal(err)
	}
	now := p.Current.Estimate.PeakReserved
	if now >= roomy.PeakReserved {
		t.Fatalf("the run reserves %d, and %d with more memory: it does not empty its cache", now, roomy.PeakReserved)
	}
	said := fmt.Sprintf("it would reserve %v, not %v", units.Bytes(roomy.PeakReserved), units.Bytes(now))
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, said) }) {
		t.Errorf("no note says %q: %q", said, p.Notes)
	}
	at := slices.IndexFunc(p.Levers, func(l Lever) bool { return strings.HasPrefix(l.Change, "allocator") })
	if at < 0 || !strings.Contains(p.Levers[at].Costs, "fits because PyTorch empties its cache") {
		t.Errorf("the levers do not say that one of them still empties the cache: %v", p.Levers)
	}
}

// TestNoEmptyCacheWithRoom checks that a run that uses a fraction of the card is not said to fit because PyTorch
// empties its cache.
func TestNoEmptyCacheWithRoom(t *testing.T) {
	s := run(t, modeled("gpt2", map[string]any{"seq": 1024.0, "batch": 1.0, "accumulation": 512.0}))
	p, err := Search(Request{Setup: s, Card: card(t, "RTX-3090")})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range p.Notes {
		if strings.Contains(n, "empties its cache") {
			t.Errorf("the current run takes %v of %v: %s", units.Bytes(p.Current.Estimate.DevicePeak), units.Bytes(p.Card.Total), n)
		}
	}
}

// TestCostsCompareSpeeds checks that faster and slower both compare speeds: twice the speed is 100 % faster, and half
// of it 50 % slower.
func TestCostsCompareSpeeds(t *testing.T) {
	s := small(t, nil)
	q, err := newSearch(Request{Setup: s, Card: card(t, "RTX-3090")}, newProber(s), true)
	if err != nil {
		t.Fatal(err)
	}
	for rate, want := range map[float64]string{20: "100 % faster", 5: "50 % slower", 10: "no extra time"} {
		if got := q.costs(candidate{rate: 10}, candidate{rate: rate}, ""); got != want {
			t.Errorf("from 10 to %v samples per second: %q, want %q", rate, got, want)
		}
	}
}
