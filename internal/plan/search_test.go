// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/units"
)

// small returns the setup of a model that takes almost no time to simulate.
func small(t testing.TB, more map[string]any) *setup.Setup {
	fields := map[string]any{
		"model": map[string]any{"config": map[string]any{
			"model_type": "llama", "num_hidden_layers": 2.0, "hidden_size": 256.0, "intermediate_size": 512.0,
			"num_attention_heads": 4.0, "vocab_size": 8000.0,
		}},
		"batch": 2.0, "accumulation": 12.0, "seq": 256.0, "precision": "amp-bf16",
	}
	for k, v := range more {
		fields[k] = v
	}
	return run(t, fields)
}

// TestCountsRuns checks the count of simulated runs that a terminal shows during a search.
func TestCountsRuns(t *testing.T) {
	for name, search := range map[string]func(Request) error{
		"one card": func(r Request) error { _, err := Search(r); return err },
		"several cards": func(r Request) error {
			_, err := SearchAll(context.Background(), r, []gpu.Card{card(t, "T4"), card(t, "H200")})
			return err
		},
	} {
		var done atomic.Int64
		if err := search(Request{Setup: small(t, nil), Card: card(t, "T4"), Done: &done}); err != nil || done.Load() == 0 {
			t.Errorf("%s: %d runs were counted, %v", name, done.Load(), err)
		}
	}
}

// TestExhaustive compares the search with everything it could have chosen: whatever the limit, nothing that fits is
// faster by more than the tolerance.
func TestExhaustive(t *testing.T) {
	for i, effective := range []int{12, 24, 36, 64} {
		for mib := 220 + 10*i; mib < 2500; mib = mib * 3 / 2 {
			t.Run(fmt.Sprintf("%d in %d MiB", effective, mib), func(t *testing.T) {
				exhaustive(t, effective, uint64(mib)*units.MiB)
			})
		}
	}
}

func exhaustive(t *testing.T, effective int, limit uint64) {
	s := small(t, map[string]any{"accumulation": float64(effective / 2), "limit": float64(limit)})
	p, err := Search(Request{Setup: s, Card: gpu.Reference})
	if err != nil {
		t.Fatal(err)
	}
	fastest := bruteForce(t, s, effective)
	switch {
	case p.Recommended == nil && fastest > 0:
		t.Fatalf("nothing recommended, although %.1f samples per second fit", fastest)
	case p.Recommended == nil:
		return
	}
	if !runs(p.Recommended.Estimate) || p.Recommended.Estimate.PeakReserved > s.Limit {
		t.Errorf("recommended %v does not fit", p.Recommended.Settings)
	}
	if got := p.Recommended.SamplesPerSecond; got < equal*equal*fastest {
		t.Errorf("recommended %v does %.1f samples per second, but %.1f are possible", p.Recommended.Settings, got, fastest)
	}
}

// bruteForce returns the most samples per second among all settings that fit with an allowance for the errors of
// estimates.
func bruteForce(t *testing.T, s *setup.Setup, effective int) float64 {
	fastest := 0.0
	for _, batch := range divisors(effective) {
		for _, checkpointing := range []bool{false, true} {
			for _, optimizer := range []string{"adamw", "adamw-fused"} {
				x := *s
				x.Batch, x.Accumulation, x.Checkpointing, x.Optimizer = batch, effective/batch, checkpointing, optimizer
				p, err := estimate.NewProbe(&x, gpu.Reference)
				if err != nil {
					t.Fatal(err)
				}
				peaks, err := p.Peaks()
				if err != nil {
					t.Fatal(err)
				}
				if peaks.Reserved+estimate.High(&x, gpu.Reference, s.Limit, nil) <= s.Limit {
					fastest = max(fastest, float64(effective)/p.Seconds(gpu.Reference, x.Accumulation))
				}
			}
		}
	}
	return fastest
}

// TestLocks checks that locked fields do not change, one at a time and all at once.
func TestLocks(t *testing.T) {
	s := small(t, map[string]any{"precision": "fp32", "attention": "eager"})
	today := setup.Planned(s)
	all := []string{"precision", "optimizer", "checkpointing", "attention", "allocator", "batch", "accumulation"}
	for _, lock := range append([][]string{all}, [][]string{{"precision"}, {"optimizer"}, {"checkpointing"}, {"attention"}, {"batch"}, {"accumulation"}}...) {
		p, err := Search(Request{Setup: s, Card: card(t, "RTX-4090"), Lock: lock})
		if err != nil {
			t.Fatal(err)
		}
		choices := []*Choice{p.Recommended}
		for _, r := range p.Ladder {
			choices = append(choices, r.Choice)
		}
		for _, c := range choices {
			for _, field := range lock {
				if c.Settings.Get(field) != today.Get(field) {
					t.Errorf("%v locked, but %s went from %v to %v", lock, field, today.Get(field), c.Settings.Get(field))
				}
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	s := small(t, nil)
	ddp := small(t, map[string]any{"dist": map[string]any{"kind": "ddp", "world": 8.0}})
	tests := map[string]struct {
		r    Request
		want string
	}{
		"lock":          {Request{Setup: s, Lock: []string{"precison"}}, "did you mean precision"},
		"allow":         {Request{Setup: s, Allow: []string{"model"}}, "not a setting that can be allowed to change"},
		"both":          {Request{Setup: s, Lock: []string{"seq"}, Allow: []string{"seq"}}, "both locked and allowed"},
		"product":       {Request{Setup: s, Lock: []string{"batch", "accumulation"}, Target: 25}, "make an effective batch of 24, not 25"},
		"batch":         {Request{Setup: s, Lock: []string{"batch"}, Target: 1}, "batch is locked at 2"},
		"accumulation":  {Request{Setup: s, Lock: []string{"accumulation"}, Target: 6}, "accumulation is locked at 12"},
		"fewer than":    {Request{Setup: ddp, Target: 7}, "less than one sample for each of 8 GPUs"},
		"margin":        {Request{Setup: s, Margin: 1}, "margin 1"},
		"below nothing": {Request{Setup: s, Margin: -0.1}, "margin -0.1"},
		"goal":          {Request{Setup: s, Goal: "fast"}, "throughput, balanced or quick"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.r.Card = card(t, "RTX-4090")
			_, err := Search(tt.r)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestShares checks that rungs, margins and goals stay within their share of the card.
func TestShares(t *testing.T) {
	s := gpt2(t, map[string]any{"precision": "amp-bf16"})
	c := card(t, "T4")
	p, err := Search(Request{Setup: s, Card: c})
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for _, r := range p.Ladder {
		if got := float64(r.Estimate.DevicePeak) / float64(c.Total); got > r.Share {
			t.Errorf("%s uses %.1f %% of the card", r.Name, 100*got)
		}
		if r.SamplesPerSecond < last*equal {
			t.Errorf("%s is slower than the rung below", r.Name)
		}
		last = r.SamplesPerSecond
	}
	for name, tt := range map[string]struct {
		r    Request
		most float64
	}{
		"margin":   {Request{Margin: 0.4}, 0.6},
		"balanced": {Request{Goal: Balanced}, 0.8},
		"quick":    {Request{Goal: Quick}, 0.5},
		"reserve":  {Request{Reserve: c.Total / 2}, 0.5},
	} {
		tt.r.Setup, tt.r.Card = s, c
		p, err := Search(tt.r)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(p.Recommended.Estimate.DevicePeak) / float64(c.Total); got > tt.most {
			t.Errorf("%s: %.1f %% of the card", name, 100*got)
		}
		if name == "quick" && p.Recommended.settings.changes(currentWithBatch(s, p)) > 0 {
			t.Errorf("quick changes more than the batch: %s", p.Recommended.Change)
		}
	}
}

// currentWithBatch returns the current settings with the recommended batch.
func currentWithBatch(s *setup.Setup, p *Plan) settings {
	x := settingsOf(s)
	x.batch, x.accumulation = p.Recommended.settings.batch, p.Recommended.settings.accumulation
	return x
}

// TestImpossible checks that settings that a model does not support are not searched but listed once, with the
// family's reason.
func TestImpossible(t *testing.T) {
	for _, c := range []struct{ model, change, why string }{
		{"mpnet-base", "checkpointing", "mpnet does not support gradient checkpointing in transformers"},
		{"t5-small", "attention flash", "t5 does not support flash attention because of its position bias; use sdpa or eager"},
	} {
		s := run(t, map[string]any{"model": map[string]any{"name": c.model}, "batch": 2.0, "seq": 64.0, "precision": "amp-bf16"})
		p, err := Search(Request{Setup: s, Card: card(t, "A100-80GB")})
		if err != nil {
			t.Fatal(c.model, err)
		}
		found := 0
		for _, r := range p.Rejected {
			if r.Change == c.change && r.Why == c.why {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %s is named %d times in %+v", c.model, c.change, found, p.Rejected)
		}
	}
}

// TestImpossibleOnce checks that levers that fail for the same reason are one rejection.
func TestImpossibleOnce(t *testing.T) {
	same := errors.New("no")
	none := func(*settings) {}
	s := &search{prober: newProber(&setup.Setup{})}
	got := s.impossible([]lever{{"a", "", none}, {"b", "", none}, {"c", "", none}, {"d", "", none}}, []error{same, nil, same, setup.Wrong("{x}: not %s", "this")})
	var text []string
	for _, r := range got {
		text = append(text, r.Change+": "+r.Why)
	}
	if diff := cmp.Diff([]string{"a, c: no", "d: not this"}, text); diff != "" {
		t.Error(diff)
	}
}

// TestNear checks that rounding considers only batches that are near enough, and finds the largest of them that fits.
func TestNear(t *testing.T) {
	for _, target := range []int{61, 64, 97, 251} {
		s := small(t, map[string]any{"batch": 1.0})
		q, err := newSearch(Request{Setup: s, Card: card(t, "T4"), Target: target}, newProber(s), true)
		if err != nil {
			t.Fatal(err)
		}
		q.batches = q.near()
		r := room{share: 0.09 + 0.01*float64(target%7)}
		got, err := q.largest(q.today, r)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for batch := 1; batch <= target; batch++ {
			x := q.split(q.today, batch)
			c, err := q.timed(x)
			if err != nil {
				t.Fatal(err)
			}
			if _, fits, err := q.placed(c, r); err != nil {
				t.Fatal(err)
			} else if fits && float64(x.effective()) >= nearEnough*float64(target) {
				want = batch
			}
		}
		if got < 0 || q.batches[got] != want {
			t.Errorf("target %d: %d of %v, want %d", target, got, q.batches, want)
		}
	}
}

// TestPrimeKeepsAutocast checks that an effective batch that does not split well keeps autocast: at 257, where only 1
// and 257 divide, BERT on a 24 GB card is as fast as at 256.
func TestPrimeKeepsAutocast(t *testing.T) {
	speed := map[int]float64{}
	for _, seq := range []float64{128, 512} {
		for _, target := range []int{256, 257} {
			s := run(t, map[string]any{"model": map[string]any{"name": "bert-base"}, "batch": 1.0, "seq": seq})
			q, err := newSearch(Request{Setup: s, Card: card(t, "RTX-4090"), Target: target}, newProber(s), true)
			if err != nil {
				t.Fatal(err)
			}
			c, err := q.chosen()
			if err != nil {
				t.Fatal(err)
			}
			if c.settings.precision != setup.AmpBF16 {
				t.Errorf("%g tokens, %d samples per step: %s", seq, target, describe(c.settings, q.today))
			}
			speed[target] = c.rate
		}
		if speed[257] < 0.98*speed[256] {
			t.Errorf("%g tokens: %.1f samples per second, but %.1f at an effective batch of 256", seq, speed[257], speed[256])
		}
	}
}
