// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/setup"
	"snug/internal/units"
)

var update = flag.Bool("update", false, "rewrite the tables in docs/optimize.md")

// guide is what a guide, written by hand, recommends for a card.
type guide struct {
	card                string
	batch, accumulation int
	expects, later      string // memory use expected in the first stage and, if stated, in the others
}

// guides lists the four cards in a guide for an embedder of records with four text fields, and the memory use it
// expects.
var guides = []guide{
	{"Quadro-RTX-6000", 45, 5, "19.8 GB", ""},
	{"V100-32GB", 64, 4, "26.5 GB", ""},
	{"A100-40GB", 82, 3, "33.9 GB", ""},
	{"A100-80GB", 128, 2, "51.5 GB", "21.4 GB"},
}

// stages are the stages of the guide's curriculum.
var stages = []struct {
	name                 string
	positives, negatives float64
}{
	{"stage 01: 32 positives and 24 negatives per anchor", 32, 24},
	{"stages 02 to 05: 16 positives and 8 negatives", 16, 8},
}

// TestDocs checks the worked example in docs/optimize.md.
func TestDocs(t *testing.T) {
	const path = "../../docs/optimize.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- tables -->\n", "<!-- end of tables -->"
	before, rest, ok := strings.Cut(string(text), from)
	old, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s has no tables", path)
	}
	got := workedExample(t)
	if *update {
		if err := os.WriteFile(path, []byte(before+from+got+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, got); diff != "" {
		t.Errorf("docs/optimize.md is out of date (-file +now); run go test ./internal/plan -run TestDocs -update:\n%s", diff)
	}
}

func workedExample(t *testing.T) string {
	var b strings.Builder
	for i, stage := range stages {
		fmt.Fprintf(&b, "\n%s\n\n", strings.ToUpper(stage.name[:1])+stage.name[1:])
		b.WriteString("| card | the guide | it expects | simulated | snug, at 256 | takes | faster |\n")
		b.WriteString("| --- | --- | ---: | ---: | --- | ---: | ---: |\n")
		for _, g := range guides {
			if i > 0 {
				g.expects = g.later
			}
			s := embedder(t, g, stage.positives, stage.negatives)
			p, err := Search(Request{Setup: s, Card: card(t, g.card), Target: 256})
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(row(g, p))
		}
	}
	return b.String() + "\n"
}

// row formats the table row for a card.
func row(g guide, p *Plan) string {
	takes := func(c *Choice) string {
		d := c.Estimate.DevicePeak
		out := fmt.Sprintf("%v, %.0f %%", units.Bytes(d), 100*float64(d)/float64(p.Card.Total))
		if !runs(c.Estimate) {
			out += ": does not fit"
		}
		return out
	}
	out := fmt.Sprintf("| %s | %d × %d = %d | %s | %s |", g.card, g.batch, g.accumulation, g.batch*g.accumulation, g.expects, takes(p.Current))
	if p.Recommended == nil {
		return out + " nothing fits | | |\n"
	}
	faster := "it runs"
	if p.Current.SamplesPerSecond > 0 {
		faster = fmt.Sprintf("%.2f×", p.Recommended.SamplesPerSecond/p.Current.SamplesPerSecond)
	}
	return out + fmt.Sprintf(" %s | %s | %s |\n", p.Recommended.Change, takes(p.Recommended), faster)
}

// embedder returns the guide's model with its settings for a card.
func embedder(t *testing.T, g guide, positives, negatives float64) *setup.Setup {
	return run(t, map[string]any{
		"model": map[string]any{"config": map[string]any{
			"model_type": "multi-encoder", "channels": 4.0, "hidden_size": 384.0, "num_hidden_layers": 6.0, "num_attention_heads": 12.0,
			"intermediate_size": 1536.0, "vocab_size": 30522.0, "lora_rank": 8.0, "lora_targets": []any{"query", "value"},
			"experts": 4.0, "experts_per_token": 2.0, "expert_hidden": 1024.0,
		}},
		"batch": float64(g.batch), "accumulation": float64(g.accumulation), "positives": positives, "negatives": negatives,
		"seq": 64.0, "precision": "amp-fp16", "checkpointing": true,
	})
}
