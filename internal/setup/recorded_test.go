// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded is a profile of a model recorded at two batches with a probe.
type recorded struct{ is Recorded }

func (r recorded) Recorded() Recorded { return r.is }

func towers() recorded {
	off := false
	return recorded{Recorded{
		Torch: "2.11", Names: []string{"batch"}, Sizes: []map[string]int64{{"batch": 2}, {"batch": 3}}, Fixed: map[string]int64{"seq": 64},
		Precision: "amp-fp16", Optimizer: "AdamW", Checkpointing: &off, Accumulation: 4, World: 1,
	}}
}

func TestRecordedSetups(t *testing.T) {
	from := Source{Programs: map[string]Program{"run/memory.snug": towers()}}
	decode := func(more map[string]any) (*Setup, error) {
		fields := map[string]any{"model": map[string]any{"profile": "run/memory.snug"}, "batch": 8.0}
		maps.Copy(fields, more)
		return Decode(fields, from)
	}
	s, err := decode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"batch": 8}, s.At()); diff != "" {
		t.Errorf("size (-want +got):\n%s", diff)
	}
	got := []any{s.Precision, s.Optimizer, s.Checkpointing, s.Accumulation, s.Seq, s.Attention, s.Versions.Torch}
	if diff := cmp.Diff([]any{"amp-fp16", "adamw", false, 4, 64, "", "2.11"}, got); diff != "" {
		t.Errorf("settings from the recordings (-want +got):\n%s", diff)
	}
	for _, fine := range []map[string]any{
		{"seq": 64.0}, {"optimizer": "adamw-fused"}, {"precision": "amp-fp16"}, {"attention": "sdpa"}, {"accumulation": 1.0},
		{"dist": map[string]any{"kind": "ddp", "world": 4.0}}, {"allocator": "expandable_segments:True"},
		{"versions": map[string]any{"torch": "2.11.0"}},
	} {
		if _, err := decode(fine); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
	for _, c := range []struct {
		more map[string]any
		want string
	}{
		{map[string]any{"seq": 128.0}, "seq is 128, but memory.snug was recorded only at 64; record other sizes: snug profile --vary seq=64,96 --vary batch=2,3"},
		{map[string]any{"precision": "bf16"}, "precision is bf16, but memory.snug was recorded with amp-fp16; record the run in bf16: snug profile --vary batch=2,3"},
		{map[string]any{"optimizer": "sgd"}, "optimizer is sgd, but memory.snug was recorded with AdamW"},
		{map[string]any{"checkpointing": true}, "record the run with it on: snug profile"},
		{map[string]any{"dist": map[string]any{"kind": "fsdp2", "world": 4.0}}, "dist.kind is fsdp2 over 4 GPUs, but memory.snug was recorded over 1"},
		{map[string]any{"versions": map[string]any{"torch": "2.6"}}, "recorded with PyTorch 2.11, but versions.torch is 2.6"},
		{map[string]any{"batch": nil}, "batch is missing"},
		{map[string]any{"frames": 8.0}, `field "frames" is not known`},
	} {
		_, err := decode(c.more)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.more, err, c.want)
		}
	}
}

// TestRecordedWeights checks that bfloat16 weights under autocast to bfloat16 match plain bfloat16 in a profile that
// did not record autocast.
func TestRecordedWeights(t *testing.T) {
	for _, c := range []struct {
		was, asked, weights string
		fine                bool
	}{
		{"bf16", "amp-bf16", Saved, true},
		{"bf16", "amp-bf16", "bf16", true},
		{"amp-bf16", "amp-bf16", Saved, true},
		{"bf16", "amp-bf16", "", false},
		{"bf16", "amp-bf16", "fp32", false},
		{"fp16", "amp-bf16", "fp16", false},
	} {
		p := towers()
		p.is.Precision = c.was
		fields := map[string]any{"model": map[string]any{"profile": "memory.snug"}, "batch": 8.0, "precision": c.asked}
		if c.weights != "" {
			fields["weights"] = c.weights
		}
		s, err := Decode(fields, Source{Programs: map[string]Program{"memory.snug": p}})
		if (err == nil) != c.fine {
			t.Errorf("%+v: error %v", c, err)
		}
		if err == nil && (s.Weights != "" || len(s.Unverified) > 0) {
			t.Errorf("%+v: weights %q, unverified %v", c, s.Weights, s.Unverified)
		}
	}
}

func TestRecordedSpread(t *testing.T) {
	dist := func(kind string, world int) map[string]any {
		return map[string]any{"kind": kind, "world": float64(world)}
	}
	for _, c := range []struct {
		name  string
		world int
		kind  string
		asked map[string]any
		want  string // the resulting dist, or part of the error
	}{
		{"one GPU", 1, "", nil, ""},
		{"DDP around one", 1, "", dist("ddp", 8), "ddp 8"},
		{"FSDP around one", 1, "", dist("fsdp2", 8), "recorded over 1; record it with the launcher"},
		{"unknown kind", 4, "", nil, "give dist.kind and dist.world, like ddp and 4"},
		{"kind from the setup", 4, "", dist("zero2", 4), "zero2 4"},
		{"kind from the recording", 4, "fsdp2", nil, "fsdp2 4"},
		{"another number of shards", 4, "fsdp2", dist("fsdp2", 8), "recorded fsdp2 over 4"},
		{"another kind", 4, "fsdp2", dist("ddp", 4), "recorded fsdp2 over 4"},
		{"DDP over more", 4, "ddp", dist("ddp", 16), "ddp 16"},
	} {
		p := towers()
		p.is.World, p.is.Kind = c.world, c.kind
		fields := map[string]any{"model": map[string]any{"profile": "m.snug"}, "batch": 8.0}
		if c.asked != nil {
			fields["dist"] = c.asked
		}
		s, err := Decode(fields, Source{Programs: map[string]Program{"m.snug": p}})
		got := ""
		if err != nil {
			got = err.Error()
		} else if s.Dist != nil {
			got = fmt.Sprint(s.Dist.Kind, " ", s.Dist.World())
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestUnverifiedWithin checks that fields inside objects are accepted as given too.
func TestUnverifiedWithin(t *testing.T) {
	fields := map[string]any{
		"model": map[string]any{"profile": "m.snug", "head": "encoder"}, "batch": 8.0, "optimizer": "adamw-fused",
		"dist":     map[string]any{"kind": "fsdp2", "world": 2.0, "param_dtype": "bf16"},
		"versions": map[string]any{"torch": "2.11", "transformers": "5.17", "cuda": "13.0"},
	}
	by := recorded{Recorded{Torch: "2.11", Names: []string{"batch"}, Optimizer: "AdamW", World: 2, Kind: "fsdp2"}}
	s, err := Decode(fields, Source{Programs: map[string]Program{"m.snug": by}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"model.head", "dist.param_dtype", "versions.transformers", "versions.cuda", optimizerVariant}
	if diff := cmp.Diff(want, s.Unverified); diff != "" {
		t.Error(diff)
	}
	if got := s.AsRecorded().Optimizer; got != "adamw" {
		t.Errorf("unverified %s is shown above the figures", got)
	}
}

// TestUnverified checks that settings that a profile cannot confirm are accepted as given and not shown above its
// figures, and that those it can confirm are checked.
func TestUnverified(t *testing.T) {
	said := map[string]any{
		"model": map[string]any{"profile": "m.snug"}, "batch": 8.0, "seq": 64.0, "negatives": 7.0, "precision": "amp-fp16", "optimizer": "adamw",
		"checkpointing": false, "attention": "eager", "clip": true, "steps": 5.0, "accumulation": 4.0,
	}
	silent := recorded{Recorded{Torch: "2.11", Names: []string{"batch"}, Sizes: []map[string]int64{{"batch": 2}, {"batch": 3}}}}
	for _, c := range []struct {
		name string
		by   recorded
		want []string
		left []any // values of precision, optimizer, attention, seq, negatives, clipping, accumulation
	}{
		{"recorded by a probe", towers(), []string{"negatives", "attention", "clip", "steps"}, []any{"amp-fp16", "adamw", "", 64, 0, false, 4}},
		{"recorded by hand", silent, []string{"seq", "negatives", "precision", "checkpointing", "optimizer", "attention", "clip", "steps"}, []any{"", "", "", 0, 0, false, 4}},
	} {
		s, err := Decode(maps.Clone(said), Source{Programs: map[string]Program{"m.snug": c.by}})
		if err != nil {
			t.Fatal(c.name, err)
		}
		if diff := cmp.Diff(c.want, s.Unverified); diff != "" {
			t.Errorf("%s: unverified (-want +got):\n%s", c.name, diff)
		}
		r := s.AsRecorded()
		if diff := cmp.Diff(c.left, []any{r.Precision, r.Optimizer, r.Attention, r.Seq, r.Negatives, r.Clip, r.Accumulation}); diff != "" {
			t.Errorf("%s: above the figures (-want +got):\n%s", c.name, diff)
		}
		if s.Attention != "eager" || s.Negatives != 7 {
			t.Errorf("%s: the setup itself was changed: %+v", c.name, s)
		}
	}
}

// TestQuantityOfOnesOwn checks that a profile's quantity without a setting becomes a field of the setup.
func TestQuantityOfOnesOwn(t *testing.T) {
	p := towers()
	p.is.Names, p.is.Fixed = []string{"frames"}, map[string]int64{"batch": 2}
	from := Source{Programs: map[string]Program{"m.snug": p}}
	fields := map[string]any{"model": map[string]any{"profile": "m.snug"}, "frames": 9.0}
	if _, err := Decode(fields, from); err == nil || !strings.Contains(err.Error(), "batch is missing") {
		t.Errorf("without a batch: %v", err)
	}
	fields["batch"] = 2.0
	s, err := Decode(fields, from)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"frames": 9}, s.At()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
