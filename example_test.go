// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"testing/fstest"

	"snug"
)

func ExampleEstimate() {
	card, err := snug.FindCard("RTX 4090")
	if err != nil {
		log.Fatal(err)
	}
	run := &snug.Setup{Model: snug.Model{Name: "gpt2"}, Batch: 8, Seq: 1024, Precision: snug.AmpBF16}
	a, err := snug.Estimate(context.Background(), run, card)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("reserved:", a.PeakReserved)
	fmt.Println("of which logits:", a.Components.Logits)
	fmt.Println("fits:", *a.Fits)
	// Output:
	// reserved: 13.92 GiB
	// of which logits: 4.68 GiB
	// fits: true
}

func ExampleMaxBatch() {
	run := &snug.Setup{Model: snug.Model{Name: "gpt2"}, Seq: 1024, Precision: snug.AmpBF16, Limit: 16 * snug.GiB}
	m, err := snug.MaxBatch(context.Background(), run, snug.Card{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("largest batch:", m.MaxBatch)
	// Output: largest batch: 10
}

func ExampleOptimize() {
	card, err := snug.FindCard("RTX 4090")
	if err != nil {
		log.Fatal(err)
	}
	run := &snug.Setup{Model: snug.Model{Name: "gpt2"}, Batch: 4, Accumulation: 8, Seq: 1024, Precision: snug.AmpBF16}
	p, err := snug.Optimize(context.Background(), run, card, snug.PlanOptions{Lock: []string{"optimizer"}})
	if err != nil {
		log.Fatal(err)
	}
	best := p.Recommended.Estimate.Setup
	fmt.Println(best.Batch, "×", best.Accumulation)
	fmt.Println(p.Rejected[0].Why)
	// Output:
	// 8 × 4
	// needs 25.74 GiB, but the card has 23.51 GiB
}

func ExamplePredict() {
	ctx := context.Background()
	// Two memory snapshots of the same training step become a profile, a small file.
	step, err := snug.FitProfile(ctx, []snug.Recording{
		{File: "testdata/measured/traces/gsa-b2-s1024-amp-bf16-adamw.pickle.gz", At: snug.Size{"batch": 2}},
		{File: "testdata/measured/traces/gsa-b4-s1024-amp-bf16-adamw.pickle.gz", At: snug.Size{"batch": 4}},
	})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := step.Write(&file); err != nil {
		log.Fatal(err)
	}
	// The file then predicts any batch.
	files := fstest.MapFS{"memory.snug": {Data: file.Bytes()}}
	p, err := snug.Predict(ctx, "memory.snug", snug.Size{"batch": 16}, snug.WithFS(files))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("at batch 16:", p.PeakReserved)
	// Output: at batch 16: 9.42 GiB
}

func ExampleReplay() {
	const file = "testdata/measured/traces/gpt2-2l-b4-s128-fp32-adamw.pickle.gz"
	r, err := snug.Replay(context.Background(), file, snug.ReplayOptions{Compare: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("reserved:", r.PeakReserved, "as recorded:", *r.Exact)
	fmt.Printf("with %s: %v\n", r.Compare[0].Conf, r.Compare[0].PeakReserved)
	// Output:
	// reserved: 1.39 GiB as recorded: true
	// with expandable_segments:True: 1.35 GiB
}

func ExampleParse() {
	_, err := snug.Parse([]byte(`{"model": {"name": "gpt2"}, "batch": 4, "precison": "bf16"}`))
	fmt.Println(err)
	run, err := snug.Parse([]byte("model: {name: gpt2}\nbatch: 4\nlimit: 16GiB\n"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Model.Name, run.Batch, run.Limit)
	// Output:
	// field "precison" is not known; did you mean precision?
	// gpt2 4 16.00 GiB
}

func ExampleCheck() {
	run := &snug.Setup{Model: snug.Model{Name: "gpt2"}, Batch: 4, Precision: "bf61"}
	err := snug.Check(context.Background(), run)
	var field *snug.FieldError
	if errors.As(err, &field) {
		fmt.Println(field.Field, "-", field.Message)
	}
	// Output: precision - precision "bf61" is not known; did you mean bf16?
}

func ExampleWithHub() {
	// Look up a company's own models by their internal names.
	hub := snug.HubFunc(func(_ context.Context, name string) (map[string]any, error) {
		if name != "acme/tiny" {
			return nil, snug.ErrUnknownModel // the name is then looked up in the built-in table
		}
		return map[string]any{
			"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 8000,
		}, nil
	})
	run := &snug.Setup{Model: snug.Model{Name: "acme/tiny"}, Batch: 4, Seq: 256}
	a, err := snug.Estimate(context.Background(), run, snug.Card{}, snug.WithHub(hub))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Params, "parameters take", a.Components.Parameters)
	// Output: 18682368 parameters take 71.3 MiB
}

func ExampleWithFS() {
	files := fstest.MapFS{"models/mine/config.json": {Data: []byte(`{"model_type": "gpt2", "n_layer": 2}`)}}
	run := &snug.Setup{Model: snug.Model{ConfigFile: "models/mine"}, Batch: 4, Seq: 256}
	a, err := snug.Estimate(context.Background(), run, snug.Card{}, snug.WithFS(files))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Params)
	// Output: 53561088
}

func ExampleFindCard() {
	_, err := snug.FindCard("RTX 4909")
	fmt.Println(err)
	fmt.Println(errors.Is(err, snug.ErrUnknownCard))
	// Output:
	// unknown GPU "RTX 4909"; did you mean RTX-4090 or RTX-4090-D?
	// true
}
