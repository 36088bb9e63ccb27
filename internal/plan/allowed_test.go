// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// TestAllowedLeversAreCombined checks that if nothing fits with one lever, the allowed levers are combined, but only
// as far as needed.
func TestAllowedLeversAreCombined(t *testing.T) {
	fields := modeled("llama-3.1-8b", map[string]any{"batch": 1.0, "accumulation": 4.0, "seq": 1024.0, "precision": "bf16"})
	for _, c := range []struct {
		card, allow string
		lora, bits  bool
	}{
		{"RTX-4090", "lora,quantization,liger", true, false},
		{"RTX-3060", "lora,quantization,liger", true, true},
		{"RTX-3060", "all", true, true},
		{"H200", "all", false, false},
	} {
		s := run(t, fields)
		q, err := newSearch(Request{Setup: s, Card: card(t, c.card), Allow: strings.Split(c.allow, ",")}, newProber(s), true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.chosen()
		if err != nil {
			t.Fatal(err)
		}
		if got == nil {
			t.Errorf("%s with %s: nothing fits", c.card, c.allow)
			continue
		}
		if x := got.Estimate.Setup; (x.LoRA != nil) != c.lora || (x.Quantization != nil) != c.bits {
			t.Errorf("%s with %s: %s", c.card, c.allow, got.Change)
		}
		if c.lora && got.Settings.Get("lora.rank") != usualRank {
			t.Errorf("%s with %s: settings %v", c.card, c.allow, got.Settings)
		}
	}
}

// TestOffloadIsNotAllowed checks that a change that cannot be simulated cannot be allowed.
func TestOffloadIsNotAllowed(t *testing.T) {
	s := gpt2(t, nil)
	_, err := newSearch(Request{Setup: s, Card: card(t, "T4"), Allow: []string{"offload"}}, newProber(s), true)
	if err == nil || !strings.Contains(err.Error(), "not simulated") {
		t.Error(err)
	}
}

// TestRemedies checks that each remedy makes the run fit when given as flags, and that the first does not change what
// is trained.
func TestRemedies(t *testing.T) {
	for _, c := range []struct {
		card   string
		fields map[string]any
		first  []string
		least  int
	}{
		{"RTX-4090", modeled("gpt2", map[string]any{"batch": 64.0, "seq": 1024.0}), []string{"--batch 8", "--accumulation 8"}, 2},
		{"RTX-4090", modeled("llama-3.1-8b", map[string]any{"batch": 1.0, "seq": 1024.0, "precision": "bf16"}), nil, 1},
		{"T4", modeled("torchvision/resnet50", map[string]any{"batch": 1024.0}), []string{"--batch 128", "--accumulation 8"}, 2},
	} {
		on := card(t, c.card)
		got, err := Remedies(context.Background(), run(t, c.fields), on)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < c.least || len(got) > enoughRemedies {
			t.Errorf("%v: %d remedies", c.fields, len(got))
		}
		for i, r := range got {
			if r.Takes == 0 || r.Takes > on.Total || len(r.Flags) == 0 || i == 0 && c.first != nil && !slices.Equal(r.Flags, c.first) {
				t.Errorf("%v: %+v", c.fields, r)
			}
		}
	}
}

// TestUnderusedIsNamed checks that a note names an underused card and the effective batch that would fill it, and
// that a well-used card gets no note.
func TestUnderusedIsNamed(t *testing.T) {
	for seq, want := range map[float64]bool{256: true, 1024: false} {
		batch := map[bool]float64{true: 4, false: 1024}[want]
		p := recommended(t, modeled("gpt2", map[string]any{"batch": batch, "seq": seq}), "A100-80GB")
		if got := strings.Contains(strings.Join(p.Notes, " "), "An effective batch of"); got != want {
			t.Errorf("%g samples of %g tokens: %v", batch, seq, p.Notes)
		}
	}
}

// TestLeastHasAllowedLevers checks that if nothing fits, the reported minimum uses all allowed levers: it is no
// larger than a plan that fits a larger card.
func TestLeastHasAllowedLevers(t *testing.T) {
	fields := modeled("llama-3.1-8b", map[string]any{"batch": 1.0, "seq": 1024.0, "precision": "bf16"})
	p, err := Search(Request{Setup: run(t, fields), Card: card(t, "RTX-3060"), Allow: []string{"all"}})
	if err != nil || p.Recommended == nil {
		t.Fatal(err, "nothing fits")
	}
	small := run(t, fields)
	small.Limit = 3 << 30
	q, err := Search(Request{Setup: small, Card: card(t, "RTX-3060"), Allow: []string{"all"}})
	if err != nil || q.Least == nil {
		t.Fatal(err, "3 GiB are enough")
	}
	least, fits := q.Least.Estimate, p.Recommended.Estimate
	if least.Setup.LoRA == nil || least.Setup.Quantization == nil || least.Setup.Seq >= 1024 || least.PeakReserved > fits.PeakReserved {
		t.Errorf("the minimum is %s with %d bytes, but %s takes %d", q.Least.Change, least.PeakReserved, p.Recommended.Change, fits.PeakReserved)
	}
}
