// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"snug"
)

func gpt2(change func(*snug.Setup)) *snug.Setup {
	s := &snug.Setup{Model: snug.Model{Name: "gpt2"}, Batch: 1, Seq: 32}
	change(s)
	return s
}

// TestErrorsSpeakOfFields checks that each error names its field, has the right kind, and mentions no flag.
func TestErrorsSpeakOfFields(t *testing.T) {
	ctx := context.Background()
	estimate := func(change func(*snug.Setup)) error {
		_, err := snug.Estimate(ctx, gpt2(change), snug.Card{})
		return err
	}
	optimize := func(o snug.PlanOptions) error {
		_, err := snug.Optimize(ctx, gpt2(func(s *snug.Setup) { s.Batch = 8 }), snug.CardWithMemory(8*snug.GiB), o)
		return err
	}
	parse := func(text string) error { _, err := snug.Parse([]byte(text)); return err }
	replay := func(o snug.ReplayOptions) error {
		_, err := snug.Replay(ctx, "testdata/measured/traces/gpt2-2l-b4-s128-fp32-adamw.pickle.gz", o)
		return err
	}
	traces := "testdata/measured/traces/gsa-b"
	step, err := snug.FitProfile(ctx, []snug.Recording{
		{traces + "2-s1024-amp-bf16-adamw.pickle.gz", snug.Size{"batch": 2}}, {traces + "4-s1024-amp-bf16-adamw.pickle.gz", snug.Size{"batch": 4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	predict := func(at snug.Size) error { _, err := step.Predict(ctx, at); return err }
	conf, device := "max_split", 7
	tests := map[string]struct {
		err   error
		field string
		kind  error
	}{
		"batch":      {estimate(func(s *snug.Setup) { s.Batch = 0 }), "batch", nil},
		"precision":  {estimate(func(s *snug.Setup) { s.Precision = "bf61" }), "precision", nil},
		"weights":    {estimate(func(s *snug.Setup) { s.Weights = snug.BFloat16 }), "weights", nil},
		"positions":  {estimate(func(s *snug.Setup) { s.Seq = 2048 }), "seq", nil},
		"targets":    {estimate(func(s *snug.Setup) { s.LoRA = &snug.LoRA{Rank: 8, Targets: []string{"none"}} }), "lora.targets", nil},
		"length":     {estimate(func(s *snug.Setup) { s.Seq = 0 }), "seq", nil},
		"world":      {estimate(func(s *snug.Setup) { s.Dist = &snug.Dist{Kind: snug.DDP} }), "dist.world", nil},
		"head":       {estimate(func(s *snug.Setup) { s.Model.Head = snug.MaskedLM }), "model.head", nil},
		"no model":   {estimate(func(s *snug.Setup) { s.Model = snug.Model{} }), "model", snug.ErrUnknownModel},
		"model":      {estimate(func(s *snug.Setup) { s.Model.Name = "gtp2" }), "model.name", snug.ErrUnknownModel},
		"model type": {estimate(func(s *snug.Setup) { s.Model = snug.Model{Config: map[string]any{"model_type": "foo"}} }), "model.config", snug.ErrUnknownModel},
		"two models": {estimate(func(s *snug.Setup) { s.Model.Config = map[string]any{"model_type": "gpt2"} }), "model", nil},
		"configs": {estimate(func(s *snug.Setup) {
			s.Model = snug.Model{Config: map[string]any{"model_type": "gpt2"}, ConfigFile: "x"}
		}), "model.config", nil},
		"too long": {estimate(func(s *snug.Setup) {
			s.Model.Name, s.Seq, s.Allocator = "mamba-130m", 1<<20, "expandable_segments:True"
		}), "seq", snug.ErrTooLong},
		"unknown field":  {parse(`{"model": {"name": "gpt2"}, "bacth": 2}`), "bacth", nil},
		"unknown inside": {parse(`{"model": {"name": "gpt2"}, "lora": {"rnak": 2}}`), "lora.rnak", nil},
		"in the model":   {parse(`{"model": {"namee": "gpt2"}}`), "model.namee", nil},
		"type":           {parse(`{"model": {"name": "gpt2"}, "batch": "four"}`), "batch", nil},
		"lock":           {optimize(snug.PlanOptions{Lock: []string{"precison"}}), "lock", nil},
		"allow":          {optimize(snug.PlanOptions{Allow: []string{"model"}}), "allow", nil},
		"both":           {optimize(snug.PlanOptions{Lock: []string{"seq"}, Allow: []string{"seq"}}), "lock", nil},
		"goal":           {optimize(snug.PlanOptions{Goal: "fast"}), "goal", nil},
		"margin":         {optimize(snug.PlanOptions{Margin: 1}), "margin", nil},
		"reserve":        {optimize(snug.PlanOptions{Reserve: 8 * snug.GiB}), "reserve", nil},
		"target":         {optimize(snug.PlanOptions{Target: -1}), "target", nil},
		"locked batch":   {optimize(snug.PlanOptions{Lock: []string{"batch"}, Target: 1}), "batch", nil},
		"no size":        {predict(nil), "at", nil},
		"no batch":       {predict(snug.Size{"batch": 0}), "at", nil},
		"another size":   {predict(snug.Size{"batch": 2, "frames": 3}), "at", nil},
		"too large":      {predict(snug.Size{"batch": 1 << 24}), "at", snug.ErrTooLong},
		"torch":          {replay(snug.ReplayOptions{Torch: "1.0"}), "torch", nil},
		"conf":           {replay(snug.ReplayOptions{Allocator: &conf}), "allocator", nil},
		"device":         {replay(snug.ReplayOptions{Device: &device}), "device", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var field *snug.FieldError
			if !errors.As(tt.err, &field) {
				t.Fatalf("%v names no field", tt.err)
			}
			if field.Field != tt.field {
				t.Errorf("field is %q, want %q: %v", field.Field, tt.field, tt.err)
			}
			if strings.Contains(strings.ReplaceAll(tt.err.Error(), "snug profile -- ", ""), "--") {
				t.Errorf("it mentions a flag: %v", tt.err)
			}
			for _, kind := range []error{snug.ErrUnknownModel, snug.ErrUnknownCard, snug.ErrNoLimit, snug.ErrTooLong} {
				if errors.Is(tt.err, kind) != errors.Is(tt.kind, kind) {
					t.Errorf("%v is %v: %t", tt.err, kind, errors.Is(tt.err, kind))
				}
			}
		})
	}
}

func TestNothingToFitInto(t *testing.T) {
	run := gpt2(func(*snug.Setup) {})
	_, most := snug.MaxBatch(context.Background(), run, snug.Card{})
	_, best := snug.Optimize(context.Background(), run, snug.Card{}, snug.PlanOptions{})
	for _, err := range []error{most, best} {
		if !errors.Is(err, snug.ErrNoLimit) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := snug.Estimate(context.Background(), nil, snug.Card{}); !errors.Is(err, snug.ErrUnknownModel) {
		t.Errorf("a nil setup: %v", err)
	}
}

// TestErrorsOfFiles checks that file system errors are wrapped.
func TestErrorsOfFiles(t *testing.T) {
	ctx, none := context.Background(), snug.WithFS(fstest.MapFS{})
	_, predict := snug.Predict(ctx, "memory.snug", snug.Size{"batch": 2}, none)
	_, replay := snug.Replay(ctx, "x.pickle", snug.ReplayOptions{}, none)
	profile := snug.Check(ctx, gpt2(func(s *snug.Setup) { s.Model = snug.Model{Profile: "memory.snug"} }), none)
	config := snug.Check(ctx, gpt2(func(s *snug.Setup) { s.Model = snug.Model{ConfigFile: "config.json"} }), none)
	for name, err := range map[string]error{"predict": predict, "replay": replay, "profile": profile, "config": config} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHubIsAsked checks that a hub is consulted first, that names unknown to it are looked up in the table, and that
// its errors are returned.
func TestHubIsAsked(t *testing.T) {
	broken := errors.New("the network is down")
	var asked []string
	hub := snug.WithHub(snug.HubFunc(func(_ context.Context, name string) (map[string]any, error) {
		asked = append(asked, name)
		switch name {
		case "mine":
			return map[string]any{"model_type": "gpt2", "n_layer": 1}, nil
		case "broken":
			return nil, broken
		}
		return nil, snug.ErrUnknownModel
	}))
	for name, want := range map[string]error{"mine": nil, "gpt2": nil, "broken": broken, "nobody's": snug.ErrUnknownModel} {
		run := gpt2(func(s *snug.Setup) { s.Model.Name = name })
		a, err := snug.Estimate(context.Background(), run, snug.Card{}, hub)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err == nil && a.Setup.Model.Name != name {
			t.Errorf("%s was returned as %+v", name, a.Setup.Model)
		}
	}
	if len(asked) != 4 {
		t.Errorf("hub was asked for %v", asked)
	}
}

// TestCacheOfTheHub looks up a model in a Hugging Face cache.
func TestCacheOfTheHub(t *testing.T) {
	files := fstest.MapFS{
		"hub/models--acme--tiny/refs/main":                 {Data: []byte("abc")},
		"hub/models--acme--tiny/snapshots/abc/config.json": {Data: []byte(`{"model_type": "gpt2", "n_layer": 1}`)},
	}
	run := gpt2(func(s *snug.Setup) { s.Model.Name = "acme/tiny" })
	if err := snug.Check(context.Background(), run, snug.WithFS(files)); !errors.Is(err, snug.ErrUnknownModel) {
		t.Errorf("without a cache: %v", err)
	}
	if err := snug.Check(context.Background(), run, snug.WithFS(files), snug.WithHubCache("hub")); err != nil {
		t.Errorf("with a cache: %v", err)
	}
}

// TestOpenerIsClosed checks that every opened file is closed.
func TestOpenerIsClosed(t *testing.T) {
	open := 0
	opener := snug.WithOpener(func(name string) (io.ReadCloser, error) {
		if name != "config.json" {
			return nil, fs.ErrNotExist
		}
		open++
		return &counted{bytes.NewReader([]byte(`{"model_type": "gpt2"}`)), &open}, nil
	})
	run := gpt2(func(s *snug.Setup) { s.Model = snug.Model{ConfigFile: "config.json"} })
	if err := snug.Check(context.Background(), run, opener); err != nil || open != 0 {
		t.Errorf("%v, %d files are still open", err, open)
	}
}

type counted struct {
	io.Reader
	open *int
}

func (c *counted) Close() error {
	*c.open--
	return nil
}

// TestSizesOfAProfile checks that a profile's quantities that have no struct field are read from JSON into Sizes
// and written back.
func TestSizesOfAProfile(t *testing.T) {
	text := `{"batch":2,"frames":16,"model":{"profile":"memory.snug"}}`
	s, err := snug.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if s.Sizes["frames"] != 16 {
		t.Errorf("got %v", s.Sizes)
	}
	data, err := s.MarshalJSON()
	if err != nil || string(data) != text {
		t.Errorf("got %s, %v, want %s", data, err, text)
	}
}

// TestKnownNamesAreKnown looks up each model and card that the library lists.
func TestKnownNamesAreKnown(t *testing.T) {
	for _, name := range snug.Models() {
		if err := snug.Check(context.Background(), &snug.Setup{Model: snug.Model{Name: name}, Batch: 1, Seq: 8}); errors.Is(err, snug.ErrUnknownModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range snug.Cards() {
		if found, err := snug.FindCard(c.Name); err != nil || found.Total != c.Total {
			t.Errorf("%s: %v, %v", c.Name, found.Total, err)
		}
	}
	if len(snug.Models()) < 50 || len(snug.Cards()) < 20 {
		t.Errorf("only %d models and %d cards are listed", len(snug.Models()), len(snug.Cards()))
	}
}
