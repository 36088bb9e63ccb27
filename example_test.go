// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"fmt"

	"snug"
)

func ExampleEstimate() {
	card, err := snug.FindCard("RTX 4090")
	if err != nil {
		fmt.Println(err)
		return
	}
	run := &snug.Setup{Model: snug.Model{Name: "gpt2"}, Batch: 8, Seq: 1024, Precision: "amp-bf16"}
	a, err := snug.Estimate(run, card)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f GiB reserved, fits: %t\n", float64(a.PeakReserved)/(1<<30), *a.Fits)
	// Output: 13.9 GiB reserved, fits: true
}

func ExampleMaxBatch() {
	run, err := snug.Parse([]byte("model: {name: gpt2}\nbatch: 1\nseq: 1024\nprecision: amp-bf16\nlimit: 16GiB\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := snug.MaxBatch(run, snug.Card{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("largest batch:", m.MaxBatch)
	// Output: largest batch: 10
}

func ExampleOptimize() {
	card, err := snug.FindCard("RTX 4090")
	if err != nil {
		fmt.Println(err)
		return
	}
	run := &snug.Setup{Model: snug.Model{Name: "gpt2"}, Batch: 4, Accumulation: 8, Seq: 1024, Precision: "amp-bf16"}
	p, err := snug.Optimize(run, card, snug.PlanOptions{Lock: []string{"optimizer"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := p.Recommended.Settings
	fmt.Println(s.Get("batch"), "×", s.Get("accumulation"))
	fmt.Println(p.Rejected[0].Why)
	// Output:
	// 8 × 4
	// needs 24.37 GiB, the card has 23.51 GiB
}

func ExampleParse() {
	_, err := snug.Parse([]byte(`{"model": {"name": "gpt2"}, "batch": 4, "precison": "bf16"}`))
	fmt.Println(err)
	// Output: field "precison" is not known; did you mean precision?
}
