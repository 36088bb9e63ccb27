// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/units"
)

// recommended returns the plan for a run on a card.
func recommended(t *testing.T, fields map[string]any, on string) *Plan {
	t.Helper()
	s := run(t, fields)
	q, err := newSearch(Request{Setup: s, Card: card(t, on)}, newProber(s), true)
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.recommend()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func modeled(name string, more map[string]any) map[string]any {
	out := map[string]any{"model": map[string]any{"name": name}}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// TestSaferWithinAFewPercent checks that a few percent of speed are not worth the last tenth of the card: Llama 3.2
// 1B at 2 × 4 takes 99 % of an RTX 4090 and is 6 % faster than 1 × 8, which takes 70 %.
func TestSaferWithinAFewPercent(t *testing.T) {
	p := recommended(t, modeled("llama-3.2-1b", map[string]any{"batch": 1.0, "seq": 2048.0, "precision": "bf16", "accumulation": 8.0}), "RTX-4090")
	if a := p.Recommended.Estimate; float64(a.DevicePeak) > 0.9*float64(p.Card.Total) {
		t.Errorf("%s takes %v of %v", p.Recommended.Change, units.Bytes(a.DevicePeak), units.Bytes(p.Card.Total))
	}
}

// TestTightNamesRoomier checks that a choice that fills the card states what a roomier one would cost.
func TestTightNamesRoomier(t *testing.T) {
	s := run(t, modeled("gpt2", map[string]any{"batch": 8.0, "seq": 512.0}))
	q, err := newSearch(Request{Setup: s, Card: card(t, "RTX-4090")}, newProber(s), true)
	if err != nil {
		t.Fatal(err)
	}
	c, err := q.choice(q.today)
	if err != nil {
		t.Fatal(err)
	}
	small := q.today
	small.batch, small.accumulation = 1, 8
	if c.roomier, err = q.choice(small); err != nil {
		t.Fatal(err)
	}
	if got := q.tightNote(c); !strings.Contains(got, "1 × 8 would leave") || !strings.Contains(got, "% slower") {
		t.Error(got)
	}
}

// TestHoldsWithItsInterval checks that a recommendation fits at the upper end of its interval, or warns that it might
// not.
func TestHoldsWithItsInterval(t *testing.T) {
	for _, c := range []struct {
		card   string
		fields map[string]any
	}{
		{"RTX-4090", modeled("gpt2", map[string]any{"batch": 4.0, "accumulation": 16.0, "seq": 1024.0})},
		{"T4", modeled("gpt2", map[string]any{"batch": 64.0, "seq": 128.0, "precision": "amp-fp16"})},
		{"RTX-4090", modeled("llama-3.2-1b", map[string]any{"batch": 4.0, "seq": 512.0, "precision": "bf16", "compile": true})},
		{"A100-40GB", modeled("llama-3.2-3b", map[string]any{"batch": 4.0, "seq": 2048.0, "precision": "bf16"})},
		{"RTX-3090", modeled("bert-base", map[string]any{"batch": 64.0, "lengths": map[string]any{"uniform": []any{32.0, 512.0}}})},
		{"RTX-3090", modeled("gpt2", map[string]any{"batch": 16.0, "seq": 1024.0, "evaluation": map[string]any{"batch": 24.0}})},
	} {
		p := recommended(t, c.fields, c.card)
		if p.Recommended == nil {
			t.Errorf("%v on %s: nothing fits", c.fields, c.card)
			continue
		}
		a := p.Recommended.Estimate
		warns := slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "it may take up to") })
		if a.Interval[1]+a.Outside > p.Card.Total && !warns {
			t.Errorf("%v on %s: up to %v of %v, without a warning", c.fields, c.card, units.Bytes(a.Interval[1]+a.Outside), units.Bytes(p.Card.Total))
		}
	}
}

// TestFreeLeversAreTaken checks that free levers are used: the fused optimizer even if it is hardly faster, and
// expandable segments if they save memory.
func TestFreeLeversAreTaken(t *testing.T) {
	fields := modeled("gpt2", map[string]any{"batch": 8.0, "accumulation": 8.0, "seq": 1024.0, "precision": "amp-bf16"})
	p := recommended(t, fields, "RTX-4090")
	if x := p.Recommended.settings; x.optimizer != "adamw-fused" || x.allocator != expandable {
		t.Errorf("%s", p.Recommended.Change)
	}
	if p.Recommended.Estimate.PeakReserved >= p.Current.Estimate.PeakReserved {
		t.Errorf("%v with them, %v without", units.Bytes(p.Recommended.Estimate.PeakReserved), units.Bytes(p.Current.Estimate.PeakReserved))
	}
}

// TestFreeLeversMayBeLocked checks that free levers are not used if they are locked or files cannot express them.
func TestFreeLeversMayBeLocked(t *testing.T) {
	s := run(t, modeled("gpt2", map[string]any{"batch": 8.0, "accumulation": 8.0, "seq": 1024.0, "precision": "amp-bf16"}))
	for name, r := range map[string]Request{
		"locked":     {Lock: []string{"optimizer", "allocator"}},
		"unwritable": {Writable: func(setting string, _ any) bool { return setting != "optimizer" && setting != "allocator" }},
	} {
		r.Setup, r.Card = s, card(t, "RTX-4090")
		q, err := newSearch(r, newProber(s), true)
		if err != nil {
			t.Fatal(err)
		}
		c, err := q.chosen()
		if err != nil {
			t.Fatal(err)
		}
		if c.settings.optimizer != "adamw" || c.settings.allocator != "" {
			t.Errorf("%s: %s", name, c.Change)
		}
	}
}

// TestManyCardsFewEstimates checks that over many cards, a run that fits none is simulated once per generation, not
// once per card.
func TestManyCardsFewEstimates(t *testing.T) {
	s := run(t, modeled("llama-3.1-8b", map[string]any{"batch": 64.0, "seq": 8192.0, "precision": "fp32"}))
	p := newProber(s).upTo(gpu.Cards()...)
	if _, err := searchAll(p, Request{Setup: s, Lock: []string{"batch", "accumulation", "precision", "checkpointing", "optimizer", "allocator"}}, gpu.Cards()); err != nil {
		t.Fatal(err)
	}
	if most := 12; len(p.answers) > most {
		t.Errorf("%d estimates for %d cards, want at most %d", len(p.answers), len(gpu.Cards()), most)
	}
}

// TestOneFigureForOneSetting checks that a rejected setting that is also on the ladder has the same memory in both
// places.
func TestOneFigureForOneSetting(t *testing.T) {
	for _, c := range []struct {
		model        string
		seq, samples float64
	}{{"gpt2", 512, 32}, {"bert-base", 256, 64}} {
		s := run(t, modeled(c.model, map[string]any{"batch": 1.0, "seq": c.seq, "accumulation": c.samples}))
		p, err := Search(Request{Setup: s, Card: card(t, "T4")})
		if err != nil {
			t.Fatal(err)
		}
		both := 0
		for _, r := range p.Rejected {
			for _, rung := range p.Ladder {
				if rung.Choice == nil || !reflect.DeepEqual(rung.Settings, r.Settings) || !strings.HasPrefix(r.Why, "needs ") {
					continue
				}
				both++
				if want := "needs " + units.Bytes(rung.Estimate.DevicePeak).String() + " of"; !strings.HasPrefix(r.Why, want) {
					t.Errorf("%s: rejected %s: %s, but %s has %v", c.model, r.Change, r.Why, rung.Name, units.Bytes(rung.Estimate.DevicePeak))
				}
			}
		}
		if both == 0 {
			t.Errorf("%s: no setting is in both lists", c.model)
		}
	}
}

// TestTightIsMarked checks that a plan is marked if its recommendation fits only if the estimate is exact: Llama 3.1
// 70B sharded over eight H100 fills the card.
func TestTightIsMarked(t *testing.T) {
	p := recommended(t, modeled("llama-3.1-70b", map[string]any{
		"batch": 1.0, "seq": 2048.0, "precision": "bf16", "dist": map[string]any{"kind": "ddp", "world": 8.0},
	}), "H100")
	if a := p.Recommended.Estimate; a.Interval[1]+a.Outside <= p.Card.Total {
		t.Fatalf("up to %v of %v is not a tight run; change this test", units.Bytes(a.Interval[1]+a.Outside), units.Bytes(p.Card.Total))
	}
	if !p.Tight {
		t.Errorf("the plan is not marked as tight: %v", p.Notes)
	}
	if p := recommended(t, modeled("gpt2", map[string]any{"batch": 1.0, "seq": 128.0}), "H100"); p.Tight {
		t.Error("a small run is marked as tight")
	}
}

// TestNearlyFullIsWorthIt checks that a plan that takes more than 95 % of the card is at least 10 % faster than every plan
// that takes less. Here, that is the current run at 92 %, which may exceed 95 % if its estimate is off, but not the card.
func TestNearlyFullIsWorthIt(t *testing.T) {
	p := recommended(t, modeled("qwen2.5-1.5b", map[string]any{
		"batch": 4.0, "accumulation": 2.0, "seq": 1024.0, "precision": "amp-bf16", "weights": "bf16", "checkpointing": true,
		"optimizer": "adafactor", "clip": true, "allocator": "max_split_size_mb:512", "dist": map[string]any{"kind": "zero2", "world": 8.0},
	}), "RTX-3090")
	takes, today := float64(p.Recommended.Estimate.DevicePeak), float64(p.Current.Estimate.DevicePeak)
	total := float64(p.Card.Total)
	if today > 0.95*total || today < 0.9*total {
		t.Fatalf("the current run takes %.1f %% of the card; change this test", 100*today/total)
	}
	if takes > 0.95*total && p.Recommended.rate < 1.1*p.Current.rate {
		t.Errorf("%s takes %.1f %% of the card and is only %.2f times as fast as the current run, at %.1f %%",
			p.Recommended.Change, 100*takes/total, p.Recommended.rate/p.Current.rate, 100*today/total)
	}
}

// TestOnePercentIsNotWorthTheCard checks that a run is not moved from 57 to 88 % of the card to be 1 % faster, as QLoRA
// of Mistral 7B at 2 × 8 on an L4 was.
func TestOnePercentIsNotWorthTheCard(t *testing.T) {
	p := recommended(t, modeled("mistral-7b", map[string]any{
		"batch": 2.0, "accumulation": 8.0, "seq": 4096.0, "precision": "amp-bf16", "weights": "bf16", "checkpointing": true, "optimizer": "adamw-8bit",
		"attention": "flash", "lora": map[string]any{"rank": 32.0, "targets": []any{"all-linear"}, "peft": true}, "quantization": map[string]any{"bits": 4.0, "double": true},
	}), "L4")
	a := p.Recommended.Estimate
	if share := float64(a.DevicePeak) / float64(p.Card.Total); share > 0.8 && p.Recommended.rate < 1.03*p.Current.rate {
		t.Errorf("%s takes %.0f %% of the card and is %.1f %% faster", p.Recommended.Change, 100*share, 100*(p.Recommended.rate/p.Current.rate-1))
	}
}
